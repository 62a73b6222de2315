# Written by .ci/stubs.py; do not edit.
from .rule import BayesClassifier as BayesClassifier
from .rule import BayesOptimalClassifier as BayesOptimalClassifier
from .single import BernoulliNB as BernoulliNB
from .single import CategoricalNB as CategoricalNB
from .single import ComplementNB as ComplementNB
from .single import GaussianNB as GaussianNB
from .single import MultinomialNB as MultinomialNB
from .mixed import NaiveBayes as NaiveBayes
from .single import PoissonNB as PoissonNB
