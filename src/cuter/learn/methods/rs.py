"""RS: experience replay of whole images from a reservoir (Chaudhry et al. 2019)."""

from cuter.learn.keepers import whole_images
from cuter.learn.recipe import METHODS, Recipe

METHODS.register("rs")(
    Recipe(
        summary="Experience replay of whole images from a reservoir.",
        keeper=whole_images,
        memory="reservoir",
    )
)
