//! What was found in JSON, gathered.

/// Items for matches in JSON. Those of values that are what was looked for, and nothing else, come first.
#[derive(Debug)]
pub(super) struct Hits {
    /// Items of values that are the pattern.
    pub exact: Vec<String>,
    /// Items of values that hold it.
    pub rest: Vec<String>,
    /// How many matches there are, kept or not.
    pub matches: usize,
    /// How many of them are exact.
    pub exact_matches: usize,
    /// How many items of each kind are kept.
    most: usize,
}

impl Hits {
    pub(super) fn new(most: usize) -> Self {
        Self { exact: Vec::new(), rest: Vec::new(), matches: 0, exact_matches: 0, most }
    }

    /// Counts a match, and keeps its item as long as there is room.
    pub(super) fn add(&mut self, exact: bool, item: impl FnOnce() -> String) {
        self.matches += 1;
        self.exact_matches += usize::from(exact);
        let items = if exact { &mut self.exact } else { &mut self.rest };
        if items.len() < self.most {
            items.push(item());
        }
    }

    /// How many items there is room for.
    pub(super) fn room(&self) -> usize {
        self.most.saturating_sub(self.rest.len())
    }

    /// Counts matches of which the items are there already.
    pub(super) fn add_all(&mut self, matches: usize, items: Vec<String>) {
        self.matches += matches;
        let room = self.room();
        self.rest.extend(items.into_iter().take(room));
    }
}
