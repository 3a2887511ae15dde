"""Fine-tuning: the stream and nothing else. What every memory must beat."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("finetune")(
    Recipe("Learns from the stream alone, without memory.", {"memory": {"images": 0}, "replay": {"size": 0}})
)
