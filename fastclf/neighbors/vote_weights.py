"""The parameters of votes, and the targets that come with added rows."""

from .._validation import as_targets, require_choice
from .base import Neighbors


class Weighted(Neighbors):
    """Neighbours whose votes the parameter `weights` weighs."""

    _vote_choices = ()  # names of further parameters of the votes, and their allowed values

    def _more_targets(self, y, n, shape, labels=True):
        """The targets of n added rows, each with the shape of the earlier ones."""
        y = as_targets(y, n, type(self).__name__, labels)
        if y.shape[1:] != shape:
            raise ValueError(f"y has shape {y.shape}; {(n, *shape)} is wanted, as in the first fit")
        return y

    def _check_voting(self):
        if self.weights is not None and not callable(self.weights):
            require_choice("weights", self.weights, ("uniform", "distance"))
        for name, choices in self._vote_choices:
            require_choice(name, getattr(self, name), choices)
        if self.weights == "distance" and self.metric == "dot":
            raise ValueError("weights='distance' with metric='dot', whose values are no distances; 'uniform' is wanted")
