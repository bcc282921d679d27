"""What templates of pages of simulations ask for: words, colours, where lanes stand."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.report.object_text import to_yaml
from kyvsim.report.timeline_chart import LANE
from kyvsim.report.timeline_rows import hazard_subject, time_text


class Texts(NamedTuple):
    """The words, as functions."""

    time: Callable[[float], str]
    subject: Callable[[Hazard], list[str]]
    yaml: Callable[[Json], str]
    levels: Mapping[HazardLevel, str]
    """How hazards look."""
    lane_height: int


TEXTS: Final = Texts(
    time=time_text,
    subject=hazard_subject,
    yaml=to_yaml,
    levels=MappingProxyType(
        {HazardLevel.ERROR: "bad", HazardLevel.WARNING: "warn", HazardLevel.INFO: "info"}
    ),
    lane_height=LANE,
)


def columns(count: int) -> str:
    """Return the style that says where so many lanes stand: a page may not say it at a card."""
    lines = [f".lanes{{grid-template-columns:6.5rem repeat({max(1, count)},minmax(0,1fr))}}\n"]
    lines += [f".l{lane}{{grid-column:{lane + 2}}}\n" for lane in range(count)]
    return "@media screen and (min-width:861px){\n" + "".join(lines) + "}\n"
