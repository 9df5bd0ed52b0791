"""Versions of the rules that stored data was made by: data of other rules cannot be continued.

Raise a number when its rules give another result for the same input; a test notices. Stores of before are refused then.
"""

from __future__ import annotations

from typing import Final

URI_RULES: Final = 2
"""How a URL becomes a uri (`model.url`). 2: escapes are in normal form."""
BASES: Final = 64
"""Domains are spread over this many bases by a hash; fixed for good, whatever the number of machines."""
FINGERPRINTS: Final = 1
"""How the text of a page becomes a fingerprint and a simhash (`html.fingerprint`)."""
