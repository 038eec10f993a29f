//! What was found in JSON, gathered.

/// Items for matches in JSON. Those of values that are what was looked for, and nothing else, come first.
#[derive(Debug)]
pub(super) struct Hits {
    /// Items of values that are the pattern.
    pub exact: Vec<String>,
    /// Items of values that hold it.
    pub partial: Vec<String>,
    /// How many matches there are, kept or not.
    pub match_count: usize,
    /// How many of them are exact.
    pub exact_match_count: usize,
    /// How many items of each kind are kept.
    max_items: usize,
}

impl Hits {
    pub(super) fn new(most: usize) -> Self {
        Self { exact: Vec::new(), partial: Vec::new(), match_count: 0, exact_match_count: 0, max_items: most }
    }

    /// Counts a match, and keeps its item as long as there is room.
    pub(super) fn add(&mut self, exact: bool, item: impl FnOnce() -> String) {
        self.match_count += 1;
        self.exact_match_count += usize::from(exact);
        let items = if exact { &mut self.exact } else { &mut self.partial };
        if items.len() < self.max_items {
            items.push(item());
        }
    }

    /// How many items there is room for.
    pub(super) fn remaining_capacity(&self) -> usize {
        self.max_items.saturating_sub(self.partial.len())
    }

    /// Counts matches of which the items are there already.
    pub(super) fn add_all(&mut self, matches: usize, items: Vec<String>) {
        self.match_count += matches;
        let room = self.remaining_capacity();
        self.partial.extend(items.into_iter().take(room));
    }
}
