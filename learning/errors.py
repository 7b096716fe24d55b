"""What can be wrong with samples, data sets and requests, as codes with a sentence a user can act on."""


class LearningError(Exception):
    """A fault with a stable snake_case `code` and a `sentence` (thing, reason, remedy) for the user."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code
        self.sentence = sentence

    def __reduce__(self) -> tuple[type["LearningError"], tuple[str, str]]:
        """Pickle by the two arguments, so that the error survives the way out of a worker process."""
        return type(self), (self.code, self.sentence)


class SampleRejected(LearningError):
    """One uploaded file cannot be used; the others go on."""


class TaskUnknownError(LearningError):
    """No plug-in has the name that was asked for."""


class PlanImpossibleError(LearningError):
    """The study asked for cannot be made: unknown preset, no budget, no samples."""


class ArtefactInvalidError(LearningError):
    """A backbone, feature file, model or bundle is missing, damaged or of another version."""
