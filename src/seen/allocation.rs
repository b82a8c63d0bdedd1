//! Whether memory can be had.

/// More than any machine has: 16 TiB.
const MAX_BYTES: u128 = 1 << 44;

/// Whether this machine gives `bytes` of memory at once.
///
/// The memory is allocated and freed again. Finding out later, when it is needed, would end the process: a failed allocation cannot be
/// caught. Systems that promise more than they have may still say yes and fail when the memory is touched.
pub(super) fn can_be_had(bytes: u128) -> bool {
    bytes <= MAX_BYTES && usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
}
