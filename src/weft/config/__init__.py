"""One frozen Settings object: weft.toml, overridden by the environment, overridden by flags."""

from weft.config.agent import user_agent
from weft.config.keys import Key, Value
from weft.config.load import Loaded, load
from weft.config.rules import host_and_port, spiders
from weft.config.settings import KEYS, Settings
from weft.config.show import Row, rows, shown
from weft.config.starter import starter
from weft.config.text import toml_text
from weft.config.text_table import TextTable

__all__ = [
    "KEYS",
    "Key",
    "Loaded",
    "Row",
    "Settings",
    "TextTable",
    "Value",
    "host_and_port",
    "load",
    "rows",
    "shown",
    "spiders",
    "starter",
    "toml_text",
    "user_agent",
]
