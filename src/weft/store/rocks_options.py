"""How RocksDB is tuned, and how its complaints read in our words."""

from __future__ import annotations

import os
from pathlib import Path

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    ChecksumType,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
)

from weft.config.sections import StoreSettings
from weft.errors import StoreCorrupt, StoreError, StoreUnwritable

MIB = 1 << 20

_YOUNGEST_FILES = 32
_GROWTH = 4
"""How many times as large as the level above it a level may be."""
_FIRST_LEVEL = 1024 * MIB
"""Bytes up to which all but the youngest files are one level."""
_MERGING_NICENESS = 10
_ANY_WINDOW = -14
"""RocksDB's own default: zstd chooses."""


def engine_options(tuning: StoreSettings, *, create: bool = False) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    _bound_memory(options, tuning)
    _shape_files(options)
    # A torn record at the end of the log is a batch that nobody was told of; damage before the end is an error, never
    # a silent loss of batches that were acknowledged.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_paranoid_checks(True)
    return options


def open_database(path: Path, options: Options, access: AccessType | None = None) -> Rdict:
    """Open with these options: without naming the column family rocksdict 0.3.29 takes those of the last opening, and
    a cache of 8 MB, whatever it is told."""
    return Rdict(str(path), options, {"default": options}, access or AccessType.read_write())


def let_merging_wait() -> None:
    """Give RocksDB's merging threads less of a busy machine than those that load pages.

    A merge takes a core for many seconds and nobody waits for it; pages wait. Where a thread has no priority of its
    own, as on macOS, nothing happens.
    """
    for name in Path("/proc/self/task").glob("*/comm"):
        if name.read_text().startswith("rocksdb:low"):
            os.setpriority(os.PRIO_PROCESS, int(name.parent.name), _MERGING_NICENESS)


def _bound_memory(options: Options, tuning: StoreSettings) -> None:
    options.set_write_buffer_size(tuning.write_buffer_bytes)
    options.set_max_write_buffer_number(3)
    # Readers replay the log when they open: a long one makes them slow.
    options.set_max_total_wal_size(tuning.wal_bytes)
    options.set_max_background_jobs(tuning.background_jobs)
    # A reader keeps every file open, so that one which the writer's compaction removes can still be read.
    options.set_max_open_files(-1)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(Cache(tuning.cache_bytes))
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    blocks.set_block_size(16 * 1024)
    blocks.set_bloom_filter(10, False)
    # The index and filter of a large file are too large to be cached as one entry; in small parts they stay cached.
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_metadata_block_size(16 * 1024)
    blocks.set_pin_top_level_index_and_filter(True)
    blocks.set_format_version(5)
    blocks.set_checksum_type(ChecksumType.xxh3())
    options.set_block_based_table_factory(blocks)


def _shape_files(options: Options) -> None:
    options.set_compression_type(DBCompressionType.lz4())
    options.set_bottommost_compression_type(DBCompressionType.zstd())
    # Level 1 leaves as few bytes as RocksDB's level 3 does, for less work: the keys of a block are much alike.
    options.set_bottommost_compression_options(_ANY_WINDOW, 1, 0, 0, True)
    # Every time the youngest files are merged with the level below, that level is written anew as well: the more of
    # them at once, the less often. A file of a full write buffer is a few MB; filters keep reads from looking at all.
    # So many of them are a few hundred MB, and levels below that grow slowly are rewritten least (decision 013).
    options.set_level_zero_file_num_compaction_trigger(_YOUNGEST_FILES)
    options.set_level_zero_slowdown_writes_trigger(2 * _YOUNGEST_FILES + 8)
    options.set_level_zero_stop_writes_trigger(4 * _YOUNGEST_FILES)
    options.set_level_compaction_dynamic_level_bytes(True)
    options.set_max_bytes_for_level_base(_FIRST_LEVEL)
    options.set_max_bytes_for_level_multiplier(_GROWTH)
    options.set_bytes_per_sync(MIB)
    # RocksDB's own LOG is for its developers; it must not grow without bound.
    options.set_keep_log_file_num(3)
    options.set_max_log_file_size(8 * MIB)
    options.set_stats_dump_period_sec(0)


def translated(path: Path, error: Exception) -> StoreError:
    """RocksDB's complaint as one of our errors; rocksdict raises plain Exceptions, so the text decides."""
    text = " ".join(str(error).split())
    if "No space left" in text:
        return StoreUnwritable(path, "the disk is full; make room (nothing that was acknowledged is lost)")
    if "Read-only file system" in text or "Permission denied" in text:
        return StoreUnwritable(path, f"its files cannot be written ({_reason(text)})")
    if "Corruption" in text or "CURRENT: does not exist" in text or "No such file" in text:
        return StoreCorrupt(path, f"its files are damaged ({text}); restore a checkpoint or import again")
    return StoreError(path, text)


def _reason(text: str) -> str:
    return text.rpartition(": ")[2].partition(" (os error")[0].lower()
