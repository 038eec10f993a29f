//! Indexes the byte offsets of the items of a long list, in bounded memory.

/// A sparse index of ascending byte offsets.
///
/// Only every `stride`-th offset is stored. The stride doubles whenever the index would outgrow a
/// sixteenth of the text it describes, so a list of a million one-digit numbers costs no more than a list
/// of big records, and the nearest stored item is always close.
#[derive(Clone, Debug, Default)]
pub struct SparseOffsets {
    offsets: Vec<u32>,
    len: usize,
    stride_log2: u32,
    first_offset: Option<u32>,
}

impl SparseOffsets {
    /// Bytes of text per stored offset, at least.
    const MIN_TEXT_BYTES_PER_ENTRY: usize = 16 * size_of::<u32>();
    /// Number of entries up to which the stride never grows.
    const MIN_ENTRY_CAPACITY: usize = 1024;

    /// Appends the offset of the next item.
    pub fn push(&mut self, offset: usize) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let origin = *self.first_offset.get_or_insert(offset);
        if self.len.is_multiple_of(1 << self.stride_log2) {
            self.offsets.push(offset);
            let text = (offset - origin) as usize;
            if self.offsets.len() > Self::MIN_ENTRY_CAPACITY
                && self.offsets.len() * Self::MIN_TEXT_BYTES_PER_ENTRY > text
            {
                let mut keep = false;
                self.offsets.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride_log2 += 1;
            }
        }
        self.len += 1;
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the index and offset of the nearest stored item at or before `index`.
    pub fn at_or_before_index(&self, index: usize) -> Option<(usize, usize)> {
        let slot = (index.min(self.len.checked_sub(1)?) >> self.stride_log2).min(self.offsets.len() - 1);
        Some((slot << self.stride_log2, self.offsets[slot] as usize))
    }

    /// Returns the index and offset of the last stored item that begins at or before byte `offset`.
    pub fn at_or_before_byte(&self, offset: usize) -> Option<(usize, usize)> {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let slot = self.offsets.partition_point(|at| *at <= offset).checked_sub(1)?;
        Some((slot << self.stride_log2, self.offsets[slot] as usize))
    }

    /// Returns the offset of the nearest stored item after `index`.
    pub fn after_index(&self, index: usize) -> Option<usize> {
        let slot = (index >> self.stride_log2).checked_add(1)?;
        self.offsets.get(slot).map(|at| *at as usize)
    }

    /// Returns the stored offsets: of every item whose index is a multiple of 2 to the power of
    /// [`stride_log2`](Self::stride_log2).
    pub fn entries(&self) -> &[u32] {
        &self.offsets
    }

    /// Returns the binary logarithm of the distance between stored items.
    pub fn stride_log2(&self) -> u32 {
        self.stride_log2
    }

    /// Restores an index of `len` items from its stored offsets; `None` if they cannot belong to one.
    pub fn from_entries(offsets: Vec<u32>, len: usize, stride_log2: u32) -> Option<Self> {
        let stride = 1_usize.checked_shl(stride_log2).filter(|stride| *stride > 0)?;
        let is_consistent = offsets.len() == len.div_ceil(stride) && offsets.is_sorted();
        let first_offset = offsets.first().copied();
        is_consistent.then_some(Self { offsets, len, stride_log2, first_offset })
    }

    /// Returns the heap size in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.offsets.capacity() * size_of::<u32>()
    }

    /// Releases spare capacity once the list is complete.
    pub fn shrink_to_fit(&mut self) {
        self.offsets.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::SparseOffsets;

    fn check(items: usize, width: usize) {
        let mut offsets = SparseOffsets::default();
        (0..items).for_each(|i| offsets.push(7 + i * width));
        assert_eq!(offsets.len(), items);
        for index in [0, 1, 2, items / 3, items / 2, items - 1].into_iter().filter(|index| *index < items) {
            let (near, at) = offsets.at_or_before_index(index).expect("not empty");
            assert!(near <= index && index - near < 1 << offsets.stride_log2);
            assert_eq!(at, 7 + near * width);
            assert_eq!(offsets.at_or_before_byte(7 + index * width).expect("not empty").0, near);
            let after = near + (1 << offsets.stride_log2);
            assert_eq!(offsets.after_index(index), (after < items).then_some(7 + after * width));
        }
        let text = items * width;
        assert!(offsets.offsets.len() <= 1025 || offsets.offsets.len() * 4 <= text / 16 + 64);
    }

    #[test]
    fn every_item_is_found_in_bounded_memory() {
        check(1, 1);
        check(3, 1400);
        check(5_000, 2);
        check(200_000, 2);
        check(200_000, 300);
    }
}
