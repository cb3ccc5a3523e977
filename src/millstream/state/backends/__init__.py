"""Where the bytes of stores are kept: in memory or in RocksDB."""
