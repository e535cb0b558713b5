"""HTTP dates: RFC 9110 section 5.6.7."""

import re
from calendar import timegm
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253402300799  # the end of the year 9999: no date has more digits

_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_FORMS = tuple(
    re.compile(form)
    for form in (
        # What everybody sends, then the two obsolete forms that a recipient still has to take.
        rf"[A-Z][a-z]{{2}}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_CLOCK} GMT",
        rf"[A-Z][a-z]{{5,8}}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_CLOCK} GMT",
        rf"[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ 0-9][0-9]) {_CLOCK} (?P<year>[0-9]{{4}})",
    )
)


@lru_cache(1024)
def http_date(seconds: int) -> str:
    """:param seconds: Unix time; what no four-digit year can say is drawn into the range."""
    at = _EPOCH + timedelta(seconds=min(max(seconds, 0), _LAST))
    return (
        f"{_DAYS[at.weekday()]}, {at.day:02} {_MONTHS[at.month - 1]} {at.year:04} "
        f"{at.hour:02}:{at.minute:02}:{at.second:02} GMT"
    )


def parse_date(text: str) -> int | None:
    """:returns: Unix time, or None for what is no date: such conditions are ignored."""
    for form in _FORMS:
        match = form.fullmatch(text)
        if match is not None:
            year = int(match["year"])
            if year < 100:  # RFC 850 has two digits; whatever modified files is past 1970
                year += 2000 if year < 70 else 1900
            try:
                at = datetime(
                    year,
                    _MONTHS.index(match["month"]) + 1,
                    int(match["day"]),
                    int(match["hour"]),
                    int(match["minute"]),
                    int(match["second"]),
                )
            except ValueError:
                return None
            return timegm(at.timetuple())
    return None
