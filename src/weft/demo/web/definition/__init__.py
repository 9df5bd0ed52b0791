"""The web as data: hosts, pages, links and rules, each a pure function of the plan."""
