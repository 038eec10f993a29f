//! Where the items of a long list begin, in bounded memory.

/// A sparse index of ascending byte offsets.
///
/// Only every `stride`-th item is remembered. The stride doubles whenever the index would outgrow a
/// sixteenth of the text it describes, so a list of a million one-digit numbers costs no more
/// than a list of big records, and the nearest remembered item is never far.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    at: Vec<u32>,
    len: usize,
    stride_log2: u32,
    origin: Option<u32>,
}

impl Offsets {
    /// Bytes of text that one remembered offset must pay for.
    const TEXT_PER_ENTRY: usize = 16 * size_of::<u32>();
    /// Below this many entries the index is small whatever the text.
    const ALWAYS_FINE: usize = 1024;

    /// Appends the offset of the next item.
    pub fn push(&mut self, offset: usize) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let origin = *self.origin.get_or_insert(offset);
        if self.len.is_multiple_of(1 << self.stride_log2) {
            self.at.push(offset);
            let text = (offset - origin) as usize;
            if self.at.len() > Self::ALWAYS_FINE && self.at.len() * Self::TEXT_PER_ENTRY > text {
                let mut keep = false;
                self.at.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride_log2 += 1;
            }
        }
        self.len += 1;
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The nearest remembered item at or before `index`: its index and offset.
    pub fn before(&self, index: usize) -> Option<(usize, usize)> {
        let slot = (index.min(self.len.checked_sub(1)?) >> self.stride_log2).min(self.at.len() - 1);
        Some((slot << self.stride_log2, self.at[slot] as usize))
    }

    /// The last remembered item that begins at or before byte `offset`: its index and offset.
    pub fn at_byte(&self, offset: usize) -> Option<(usize, usize)> {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let slot = self.at.partition_point(|at| *at <= offset).checked_sub(1)?;
        Some((slot << self.stride_log2, self.at[slot] as usize))
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        self.at.capacity() * size_of::<u32>()
    }

    /// Gives back spare capacity once the list is complete.
    pub fn shrink(&mut self) {
        self.at.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::Offsets;

    fn check(items: usize, width: usize) {
        let mut offsets = Offsets::default();
        (0..items).for_each(|i| offsets.push(7 + i * width));
        assert_eq!(offsets.len(), items);
        for index in [0, 1, 2, items / 3, items / 2, items - 1].into_iter().filter(|index| *index < items) {
            let (near, at) = offsets.before(index).expect("not empty");
            assert!(near <= index && index - near < 1 << offsets.stride_log2);
            assert_eq!(at, 7 + near * width);
            assert_eq!(offsets.at_byte(7 + index * width).expect("not empty").0, near);
        }
        let text = items * width;
        assert!(offsets.at.len() <= 1025 || offsets.at.len() * 4 <= text / 16 + 64);
    }

    #[test]
    fn finds_every_item_within_bounded_memory() {
        check(1, 1);
        check(3, 1400);
        check(5_000, 2);
        check(200_000, 2);
        check(200_000, 300);
    }
}
