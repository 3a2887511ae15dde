"""Fine-tuning: the stream and nothing else. What every memory must beat."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("finetune")(
    Recipe("Learns from the stream alone, without memory.", {"memory_images": 0, "replay_size": 0})
)
