"""A cluster's owner, played against a modelled cluster and control plane: thousands of histories, each from a seed.

What runs is weft's own code: `LinkIndex`, `LinkRound`, `RegisteredStore`, the views, the placement of cells, the
statements, `MgmtRegistry`, and the rules of `MemoryMgmt`. A model stands behind the session of the cluster and around
the calls of the control plane. One seed gives one history, to the last step, in every process.

baton           owners as threads, of which one runs at a time; who runs next is decided at every request
replica         one replica: rows whose cells and deletes have timestamps
cql             the statements of weft, read from their text and from the text of the schema
cluster         three replicas: quorums, writes that are late or lost, read repair, purged tombstones
session         a CellSession on that cluster, which repeats requests as the real one does
control_plane   MemoryMgmt behind COMMITs without an answer and a server that is away
workload        inputs, and how an owner applies them exactly once
owner           an owner's life, with a store that compares all that it reads with what was registered
faults          how rough a history is, and who is killed, stopped or replaced when
history         one history from its seed to the verdict
removals        the protocol with one of its rules taken away
"""
