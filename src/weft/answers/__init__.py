"""Answers from the query table: the questions weft is for, for people and programs."""
