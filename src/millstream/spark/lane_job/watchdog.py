"""Seeing that a lane gets on."""

from __future__ import annotations

import logging
import os
import threading

from millstream.spark.calls.pulse import PulseTaker
from millstream.spark.lane_job.channel import Beat, Channel, Hangs

log = logging.getLogger("millstream.lanes")

_LOOK_SECONDS = 1.0
_BEAT_SECONDS = 5.0
#: How a lane ends that hangs.
_HUNG = 71


def watch(channel: Channel, most: float, closing: threading.Event) -> None:
    """Tell the driver that this lane lives, and end it if its main thread is at one record for too long.

    Args:
        channel: to the driver.
        most: for how many seconds it may be at one record.
        closing: the lane is about to end.
    """
    taker, said, beat = PulseTaker(), False, 0.0
    taker.begin("records")
    while not closing.wait(_LOOK_SECONDS):
        beat += _LOOK_SECONDS
        try:
            if beat >= _BEAT_SECONDS:
                beat = 0.0
                channel.send(Beat())
            pulse = taker.look()
            if pulse is None or not pulse.still:
                said = False
            elif pulse.still > most:
                channel.send(Hangs(pulse.still, pulse.stack))
                os._exit(_HUNG)
            elif pulse.still > most / 2 and not said:
                said = True
                log.warning("it has been at one record for %.0f s; it is at:\n%s", pulse.still, pulse.stack.rstrip())
        except OSError:  # the driver is gone, and with it whoever could be told
            return
