//! Tracks the containers that enclose the current place: one bit per level.

/// A stack of containers; a set bit is an object.
#[derive(Debug, Default)]
pub(super) struct NestingStack {
    depth: usize,
    /// The innermost 64 levels; the others are in `outer_words`, 64 levels per word.
    inner_bits: u64,
    outer_words: Vec<u64>,
}

impl NestingStack {
    pub(super) fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer_words.push(self.inner_bits);
            self.inner_bits = 0;
        }
        self.inner_bits = self.inner_bits << 1 | u64::from(object);
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner_bits = self.outer_words.pop().unwrap_or_default();
        } else {
            self.inner_bits >>= 1;
        }
    }

    /// Returns true if the innermost container is an object; `None` outside of any.
    pub(super) fn in_object(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.inner_bits & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::NestingStack;

    #[test]
    fn every_level_is_tracked() {
        let shape: Vec<bool> = (0..1_000).map(|i| i % 3 == 0 || i % 7 == 1).collect();
        let mut nesting = NestingStack::default();
        for object in &shape {
            nesting.push(*object);
        }
        for object in shape.iter().rev() {
            assert_eq!(nesting.in_object(), Some(*object));
            nesting.pop();
        }
        assert_eq!(nesting.in_object(), None);
    }
}
