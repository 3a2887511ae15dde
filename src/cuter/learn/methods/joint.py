"""Joint learning: all images and labels of the tasks so far, several times. The upper bound."""

from cuter.learn.recipe import METHODS, Recipe

METHODS.register("joint")(
    Recipe(
        "Upper bound: each task shows all images and labels of the tasks so far, several times, without memory.",
        {"memory": {"images": 0}, "replay": {"size": 0}},
        {"task_scope": "all-tasks", "passes": 3},
    )
)
