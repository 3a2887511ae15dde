"""Missing labels of old classes in the stream: what completing them could bring, and what ways of guessing them do.

    python benchmarks/completion.py --data-root VOCdevkit --backbone FOLDER

A task's images are annotated for its own classes only, so the stream never says where classes of earlier tasks are.
Each way below guesses some of these labels; VOC knows them all, so the share of true positives and negatives that it
finds is counted. Learners are those of `benchmarks/rates.py`: a frozen backbone, VOC train → val, seconds per run.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from cuter import Batch, Learner
from rates import Experiment, parse_arguments

Guess = Callable[[Learner, Tensor, Tensor], tuple[Tensor, Tensor]]  # logits, truth → positives, negatives; all (B, C)


def oracle(_: Learner, logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    """All of them."""
    return truth, ~truth


def true_negatives(_: Learner, logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    """All negatives."""
    return torch.zeros_like(truth), ~truth


def true_positives(_: Learner, logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    """All positives."""
    return truth, torch.zeros_like(truth)


@dataclass
class ByScore:
    """Absent below one score, present above another."""

    absent: float
    present: float = 2.0

    def __call__(self, _: Learner, logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
        """Guess."""
        scores = torch.sigmoid(logits)
        return scores > self.present, scores < self.absent


@dataclass
class ByRank:
    """Absent below a quantile of the class's own recent scores, present above another."""

    absent: float
    present: float = 1.0
    recent: dict[int, list[float]] = field(default_factory=dict)

    def __call__(self, learner: Learner, logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
        """Guess."""
        positives, negatives = torch.zeros_like(truth), torch.zeros_like(truth)
        for column in range(logits.shape[1]):
            scores = self.recent.setdefault(column, [])
            scores += logits[:, column].tolist()
            del scores[:-WINDOW]
            low, high = torch.tensor(scores).quantile(torch.tensor([self.absent, self.present])).tolist()
            positives[:, column] = logits[:, column] > high
            negatives[:, column] = logits[:, column] < low
        return positives, negatives


WINDOW, EVERY, FEWEST = 240, 10, 4  # recent scores; steps between looks at memory; items that make a distribution


@dataclass
class ByPrevalence:
    """By the probability of the class: two normal distributions of logits, and its prevalence in the current stream.

    Positives are distributed as those in memory are now, negatives around the median of the stream, and the share of
    positives follows by expectation maximisation.
    """

    absent: float
    present: float
    recent: dict[int, list[float]] = field(default_factory=dict)
    memory: tuple[Tensor, Tensor] | None = None

    def __call__(self, learner: Learner, logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
        """Guess."""
        positives, negatives = torch.zeros_like(truth), torch.zeros_like(truth)
        if self.memory is None or learner.steps % EVERY == 0:
            batch, scores = learner._judge(learner.memory.items)
            self.memory = torch.logit(scores.clamp(1e-6, 1 - 1e-6)), batch.labels
        held, labels = self.memory
        for column in range(held.shape[1]):
            stream = self.recent.setdefault(column, [])
            stream += logits[:, column].tolist()
            del stream[:-WINDOW]
            present, absent = (held[labels[:, column] == is_there, column] for is_there in (True, False))
            if min(len(present), len(absent)) < FEWEST or len(stream) < WINDOW // 10:
                continue
            probability = self._probability(logits[:, column], torch.tensor(stream), present, absent)
            positives[:, column], negatives[:, column] = probability > self.present, probability < self.absent
        return positives, negatives

    @staticmethod
    def _probability(logits: Tensor, stream: Tensor, present: Tensor, absent: Tensor) -> Tensor:
        variance = (present.var() * len(present) + absent.var() * len(absent)) / (len(present) + len(absent))
        there, elsewhere = present.mean(), stream.median()

        def evidence(values: Tensor) -> Tensor:
            between = torch.maximum(torch.minimum(values, there), elsewhere)  # monotone, also beyond both means
            return ((between - elsewhere) ** 2 - (between - there) ** 2) / (2 * variance.clamp(min=0.04))

        prevalence = torch.tensor(0.05)
        for _ in range(10):
            prevalence = torch.sigmoid(evidence(stream) + torch.logit(prevalence)).mean().clamp(1e-3, 0.5)
        return torch.sigmoid(evidence(logits) + torch.logit(prevalence))


@dataclass
class ByExamples:
    """Absent where a class scores lower than most of its examples in memory, present where higher than most of them."""

    absent: float
    present: float = 1.0
    thresholds: tuple[Tensor, Tensor] | None = None

    def __call__(self, learner: Learner, logits: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
        """Guess, with quantiles of the examples' logits that are renewed every few steps."""
        if self.thresholds is None or learner.steps % EVERY == 0 or len(self.thresholds[0]) < logits.shape[1]:
            self.thresholds = self._quantiles(learner, logits.shape[1])
        low, high = self.thresholds
        return logits > high, logits < low

    def _quantiles(self, learner: Learner, classes: int) -> tuple[Tensor, Tensor]:
        low, high = torch.full((classes,), -torch.inf), torch.full((classes,), torch.inf)
        if len(learner.memory):
            batch, scores = learner._judge(learner.memory.items)
            for column in range(classes):
                held = torch.logit(scores[batch.labels[:, column], column].clamp(1e-6, 1 - 1e-6))
                if len(held) >= FEWEST:
                    low[column], high[column] = held.quantile(torch.tensor([self.absent, self.present]))
        return low, high if self.present < 1 else torch.full((classes,), torch.inf)


WAYS: dict[str, Callable[[], Guess | None]] = {
    "nothing (RS)": lambda: None,
    "oracle: all labels": lambda: oracle,
    "oracle: negatives alone": lambda: true_negatives,
    "oracle: positives alone": lambda: true_positives,
    "absent below a score of 0.4": lambda: ByScore(0.4),
    "absent below a score of 0.5": lambda: ByScore(0.5),
    "absent below a score of 0.6": lambda: ByScore(0.6),
    "absent below a score of 0.7": lambda: ByScore(0.7),
    "absent below a score of 0.8": lambda: ByScore(0.8),
    "absent below 0.5, present above 0.95": lambda: ByScore(0.5, 0.95),
    "absent below 0.7, present above 0.95": lambda: ByScore(0.7, 0.95),
    "absent below 0.7, present above 0.9": lambda: ByScore(0.7, 0.9),
    "by rank: lowest 80 % absent": lambda: ByRank(0.8),
    "by rank: lowest 90 % absent": lambda: ByRank(0.9),
    "by rank: lowest 90 % absent, highest 2 % present": lambda: ByRank(0.9, 0.98),
    "by prevalence: probability below 0.05 absent": lambda: ByPrevalence(0.05, 2.0),
    "by prevalence: below 0.05 absent, above 0.9 present": lambda: ByPrevalence(0.05, 0.9),
    "by prevalence: below 0.05 absent, above 0.6 present": lambda: ByPrevalence(0.05, 0.6),
    "by examples: below 90 % of them absent": lambda: ByExamples(0.1),
    "by examples: below 80 % of them absent": lambda: ByExamples(0.2),
    "by examples: below 90 % of them absent, above 70 % present": lambda: ByExamples(0.1, 0.7),
}


@dataclass
class Completion:
    """Completes the labels of a learner's stream, and counts what it guessed right and wrong."""

    guess: Guess
    learner: Learner
    truth: dict[str, frozenset[str]]
    counts: Counter[str]

    def __call__(self, batch: Batch, logits: Tensor) -> Batch:
        """Stand in for the target of the stream."""
        truth = torch.tensor([[name in self.truth[id] for name in batch.names] for id in batch.ids])
        unknown = ~batch.known
        positives, negatives = self.guess(self.learner, logits.detach().float(), truth)
        positives, negatives = positives & unknown, negatives & unknown & ~positives
        self.counts.update(
            positives=int((truth & unknown).sum()),
            negatives=int((~truth & unknown).sum()),
            called_present=int(positives.sum()),
            rightly_present=int((positives & truth).sum()),
            rightly_absent=int((negatives & ~truth).sum()),
            wrongly_absent=int((negatives & truth).sum()),
        )
        return replace(batch, labels=batch.labels | positives, known=batch.known | positives | negatives)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}" if whole else "–"


def main() -> None:
    given = parse_arguments(__doc__ or "")
    torch.set_num_threads(1)
    console = Console(stderr=True)
    experiment = Experiment(given, console)
    truth = {sample.id: sample.labels for sample in experiment.train}
    heads = ("old classes in the stream", "average mAP", "last mAP", "positives found", "precision", "negatives found")
    print(f"| {' | '.join(heads)} | positives called absent |\n|---|{'---:|' * 6}")
    for name, make in track(WAYS.items(), "ways", console=console):
        counts: Counter[str] = Counter()

        def complete(learner: Learner, make: Callable[[], Guess | None] = make, counts: Counter[str] = counts) -> None:
            if (guess := make()) is not None:
                learner.stream_target = Completion(guess, learner, truth, counts)

        found = [experiment.run("rs", seed, prepare=complete) for seed in range(given.seeds)]
        average, last = (sum(values) / len(values) for values in zip(*found, strict=True))
        print(
            f"| {name} | {average:.2f} | {last:.2f} | {percent(counts['rightly_present'], counts['positives'])} % "
            f"| {percent(counts['rightly_present'], counts['called_present'])} % "
            f"| {percent(counts['rightly_absent'], counts['negatives'])} % "
            f"| {percent(counts['wrongly_absent'], counts['positives'])} % |"
        )


if __name__ == "__main__":
    main()
