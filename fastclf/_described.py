"""How messages show a user's value."""

import numpy as np


def described(value):
    """A value as a message shows it: its repr, or only its type if the repr is long; of an array, shape and dtype."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"a {type(value).__name__}"
