-- Why a web host waits, and why its server asked us to, in the words of `model/wait_reason.py`; empty: not known.
ALTER TABLE pending_host ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE pending_host ADD COLUMN asked_reason TEXT NOT NULL DEFAULT '';
