"""One frozen Settings object: weft.toml, overridden by the environment, overridden by flags."""

from weft.config.keys import Key, TextTable, Value
from weft.config.load import Loaded, as_variables, load, secrets_in
from weft.config.settings import KEYS, Settings, fetch_conditions, user_agent
from weft.config.show import Row, rows, shown, starter
from weft.config.text import toml_text
from weft.config.text_forms import host_and_port, spiders

__all__ = [
    "KEYS",
    "Key",
    "Loaded",
    "Row",
    "Settings",
    "TextTable",
    "Value",
    "as_variables",
    "fetch_conditions",
    "host_and_port",
    "load",
    "rows",
    "secrets_in",
    "shown",
    "spiders",
    "starter",
    "toml_text",
    "user_agent",
]
