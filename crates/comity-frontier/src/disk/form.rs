//! How each table is laid out on the disk: chosen when a store is made, and kept by it.

use std::sync::Arc;

use fjall::KeyspaceCreateOptions;
use fjall::compaction::Leveled;
use fjall::config::{
    BlockSizePolicy, CompressionPolicy, FilterPolicy, HashRatioPolicy, PartitioningPolicy, PinningPolicy,
};

use crate::Keyspace;

/// A table of the engine.
pub(super) struct Form {
    pub(super) name: &'static str,
    /// Its share of the write buffers, in parts of [`PARTS`]: so that tables which grow together are written out equally often.
    pub(super) parts: u64,
    pub(super) options: KeyspaceCreateOptions,
}

/// Bytes of a file of a table. The first level holds four of them, and is rearranged as a whole by the one thread that writes
/// buffers out as well: with the engine's 64 MiB a buffer waits for seconds, and others fill beside it.
const FILE: u64 = 8 << 20;

/// Of what [`Form::parts`] are parts.
pub(super) const PARTS: u64 = 36;

pub(super) fn form(space: Keyspace) -> Form {
    let (name, parts, is_looked_up) = match space {
        Keyspace::Queue => ("queue", 12, false),
        Keyspace::Seen => ("seen", 2, false),
        Keyspace::Origin => ("origin", 8, true),
        Keyspace::Domain => ("domain", 5, true),
        Keyspace::Due => ("due", 4, false),
        Keyspace::Visit => ("visit", 2, true),
        Keyspace::Meta => ("meta", 1, false),
        Keyspace::Left => ("left", 2, false),
    };
    let options = KeyspaceCreateOptions::default()
        // When a buffer is written out is our affair.
        .max_memtable_size(u64::MAX)
        .compaction_strategy(Arc::new(Leveled::default().with_table_target_size(FILE)));
    let options = if is_looked_up {
        // Read one row at a time, anywhere: small blocks as they are, with an index of hashes, and what leads to them in
        // memory: 3 bytes a row.
        options
            .filter_block_pinning_policy(PinningPolicy::all(true))
            .filter_block_partitioning_policy(PartitioningPolicy::all(false))
            .index_block_pinning_policy(PinningPolicy::all(true))
            .index_block_partitioning_policy(PartitioningPolicy::all(false))
            .data_block_size_policy(BlockSizePolicy::all(4 << 10))
            .data_block_hash_ratio_policy(HashRatioPolicy::all(0.75))
            .data_block_compression_policy(CompressionPolicy::disabled())
    } else {
        // Read in order: no filter.
        options.data_block_size_policy(BlockSizePolicy::all(8 << 10)).filter_policy(FilterPolicy::disabled())
    };
    Form { name, parts, options }
}
