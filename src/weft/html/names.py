"""Words beside which a number is a date or a counter, in lower case and in the languages that we know them of."""

from __future__ import annotations

from typing import Final


def _named(names: str) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names.split())


MONTHS: Final = _named("""
    jan feb mar apr may jun jul aug sep sept oct nov dec
    january february march april june july august september october november december
    januar februar märz mai juni juli oktober dezember januari februari maart mei augustus
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
""")

DAYS: Final = _named("""
    mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo
""")

UNITS_OF_TIME: Final = _named("day hou hrs min mon sec wee yea yrs")
"""The first three letters of what stands between a number and `ago`."""

COUNTED: Final = _named("""
    views visits visitors hits reads readers downloads clicks likes shares followers subscribers comments replies votes
    guests aufrufe besucher zugriffe kommentare vues visites visiteurs commentaires visitas visitantes comentarios
""")
"""`1,234 views` and `Views: 1,234`."""

LABELS: Final = _named("members online users")
"""`Members online: 12`; but `12 online` can mean anything."""

UNITS: Final = _named("milliseconds ms queries sec seconds secs")
"""`0.12 seconds`."""
