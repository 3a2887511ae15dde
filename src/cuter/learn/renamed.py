"""Names that settings had when they were one flat list of fields, and where they are today."""

# Fields that a learner still has under the same name.
UNCHANGED = ("method", "features", "class_reduction", "lr", "weight_decay", "precision", "seed")
# Names of parts.
PARTS = {
    "keeper": "keeper",
    "selection": "keeper.selection",
    "memory": "memory",
    "replay_draw": "replay",
    "stream_unknown": "targets",
    "teacher": "teacher",
    "head": "head",
    "predictor": "predictor",
    "regulariser": "regulariser",
    "localiser": "localiser",
    "augment": "augment",
}
# Fields of parts. One that the chosen part does not have never had an effect.
FIELDS = {
    "cutout_shape": "keeper.shape",
    "cutout_rim": "keeper.rim",
    "fallback": "keeper.fallback",
    "tau1": "keeper.selection.tau1",
    "tau2": "keeper.selection.tau2",
    "memory_images": "memory.images",
    "memory_codec": "memory.codec",
    "memory_power": "memory.power",
    "replay_size": "replay.size",
    "replay_weight": "replay.weight",
    "replay_unknown": "replay.unknown",
    "confusion_steps": "replay.steps",
    "absent_below": "targets.below",
    "guesses_train": "targets.train",
    "distil_weight": "teacher.distil_weight",
    "pseudo_threshold": "teacher.threshold",
    "pseudo_rate": "teacher.rate",
    "token_weight": "teacher.token_weight",
    "node_weight": "teacher.node_weight",
    "relation_weight": "teacher.relation_weight",
    "head_lr": "head.lr",
    "shared_lr": "head.shared_lr",
    "attention_tokens": "head.tokens",
    "attention_sees": "head.sees",
    "prototype_scores": "head.scores",
    "separation": "head.separation",
    "graph_nodes": "head.nodes",
    "word_vectors": "head.word_vectors",
    "word_dim": "head.word_dim",
    "rounds": "localiser.max_regions",
    "alpha": "regulariser.weight",
}
RENAMED = PARTS | FIELDS | {"shown": "task_scope"}
