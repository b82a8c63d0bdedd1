//! What survives: the job directory, its manifest and its lock.
