"""Features to regions: patch graphs, their normalised cut, and what is cut out."""

from cuter.cut.graph import cosine_affinity, degrees, gaussian_affinity, laplacian
from cuter.cut.localiser import Localiser
from cuter.cut.maskcut import mask_cut
from cuter.cut.normalized import fiedler_values, normalized_cut
from cuter.cut.regions import Regions, crop
from cuter.cut.settings import CutSettings, cut_settings

__all__ = [
    "CutSettings",
    "Localiser",
    "Regions",
    "cosine_affinity",
    "crop",
    "cut_settings",
    "degrees",
    "fiedler_values",
    "gaussian_affinity",
    "laplacian",
    "mask_cut",
    "normalized_cut",
]
