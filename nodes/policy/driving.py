"""Who drives after a signal (chapter 15.12.4): pause, resume, takeover, cancel."""

from state.control import Control, Driving
from state.signal import Cancel, Pause, Resume, Signal, Takeover

_DRIVES: dict[type[Signal], Driving] = {
    Pause: "paused",
    Takeover: "handed_over",
    Cancel: "cancelled",
    Resume: "running",
}


def control_by(signal: Pause | Resume | Takeover | Cancel) -> Control:
    """The control that a signal takes."""
    return Control(
        driving=_DRIVES[type(signal)],
        reason=getattr(signal, "reason", ""),
        by=signal.by,
        rollback=getattr(signal, "rollback", False),
    )
