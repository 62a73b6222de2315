"""The parameters that say how neighbours vote, and the targets of added rows."""

from .._validation import as_targets, require_choice
from .base import Neighbors


class Weighted(Neighbors):
    """The base of estimators whose neighbours vote with the weights that the parameter `weights` gives."""

    _vote_choices = ()  # pairs (name, allowed values) of the parameters besides `weights` that determine the votes

    def _more_targets(self, y, n, shape, labels=True):
        """Check the targets y of n added rows; `shape` is the shape of a fitted row's target."""
        y = as_targets(y, n, type(self).__name__, labels)
        if y.shape[1:] != shape:
            raise ValueError(f"y has shape {y.shape}; shape {(n, *shape)} is wanted, as in the first fit")
        return y

    def _check_voting(self):
        if self.weights is not None and not callable(self.weights):
            require_choice("weights", self.weights, ("uniform", "distance"))
        for name, choices in self._vote_choices:
            require_choice(name, getattr(self, name), choices)
        if self.weights == "distance" and self.metric == "dot":
            raise ValueError("weights is 'distance', but metric='dot' gives no distances; weights='uniform' is wanted")
