//! Tests the debouncer with files that are changed in every supported way, with a simulated clock.

use std::time::Duration;

use proptest::prelude::*;

use super::{DebounceOptions, Debouncer, FileChange, ReadAssessment};

/// A way to change the file.
#[derive(Clone, Debug)]
enum Change {
    /// Writes it in place, with a pause before each piece.
    InPlace { pauses: Vec<u64>, ended: bool },
    /// Replaces it by another file.
    Rename { ended: bool },
    /// Writes half of it, which ends within a line, closes it, and adds the rest.
    InTwoGoes { pause: u64 },
    /// Removes it and creates it again.
    Recreate { pause: u64 },
    /// Changes its times.
    Touch,
}

/// The content of the file from a time on, and the change that led to it.
struct Moment {
    at: Duration,
    change: FileChange,
    content: Option<String>,
}

/// A sequence of changes to a file.
struct Story {
    moments: Vec<Moment>,
    whole: Vec<String>,
    now: Duration,
}

impl Story {
    fn of(changes: &[(u64, Change)]) -> Self {
        let mut story = Self { moments: Vec::new(), whole: Vec::new(), now: Duration::ZERO };
        for (gap, change) in changes {
            story.pass(*gap);
            story.add(change);
        }
        story
    }

    fn add(&mut self, change: &Change) {
        let number = self.whole.len();
        let mut text = format!("hardCap: {number}000\nwindow: {number}\nname: the end of {number}\n");
        match change {
            Change::InPlace { pauses, ended } => {
                if !ended {
                    text.pop();
                }
                self.sign(FileChange::Writing, Some(""));
                let piece = text.len() / pauses.len().max(1) + 1;
                for (index, pause) in pauses.iter().enumerate() {
                    self.pass(*pause);
                    self.sign(FileChange::Writing, text.get(..piece * (index + 1)).or(Some(&text)));
                }
                self.sign(FileChange::Writing, Some(&text));
                self.sign(FileChange::Closed, Some(&text));
            }
            Change::Rename { ended } => {
                if !ended {
                    text.pop();
                }
                self.sign(FileChange::Replaced, Some(&text));
            }
            Change::InTwoGoes { pause } => {
                self.sign(FileChange::Writing, Some(""));
                self.sign(FileChange::Writing, Some(&text[..20]));
                self.sign(FileChange::Closed, Some(&text[..20]));
                self.pass(*pause);
                self.sign(FileChange::Writing, Some(&text));
                self.sign(FileChange::Closed, Some(&text));
            }
            Change::Recreate { pause } => {
                self.sign(FileChange::Replaced, None);
                self.pass(*pause);
                self.sign(FileChange::Replaced, Some(""));
                self.sign(FileChange::Writing, Some(&text));
                self.sign(FileChange::Closed, Some(&text));
            }
            Change::Touch => {
                let content = self.moments.last().and_then(|moment| moment.content.clone());
                self.sign(FileChange::MetadataChanged, content.as_deref());
                return;
            }
        }
        self.whole.push(text);
    }

    fn pass(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    fn sign(&mut self, change: FileChange, content: Option<&str>) {
        self.moments.push(Moment { at: self.now, change, content: content.map(str::to_owned) });
    }

    /// Returns the reported contents and their times.
    fn reported(&self, options: DebounceOptions) -> Vec<(Duration, Option<String>)> {
        let mut debouncer = Debouncer::new(options);
        let mut reported: Vec<(Duration, Option<String>)> = Vec::new();
        let mut content = None;
        let ends = self.moments.iter().map(|moment| moment.at).skip(1).chain([Duration::MAX]);
        for (moment, end) in self.moments.iter().zip(ends) {
            content.clone_from(&moment.content);
            debouncer.record_change(moment.change, moment.at);
            while let Some(due) = debouncer.next_read_at().filter(|due| *due < end) {
                let last = reported.last().map(|(_, text)| text);
                let found = match &content {
                    same if Some(same) == last => ReadAssessment::Unchanged,
                    Some(text) if text.ends_with('\n') => ReadAssessment::Complete,
                    _ => ReadAssessment::Incomplete,
                };
                if debouncer.record_read(found, due) {
                    reported.push((due, content.clone()));
                }
                assert_ne!(debouncer.next_read_at(), Some(due), "no look at the same time twice");
            }
        }
        assert!(debouncer.is_idle(), "nothing is left to be told");
        reported
    }
}

fn change() -> impl Strategy<Value = Change> {
    let pauses = prop::collection::vec(0_u64..1_900, 1..6);
    prop_oneof![
        (pauses, any::<bool>()).prop_map(|(pauses, ended)| Change::InPlace { pauses, ended }),
        any::<bool>().prop_map(|ended| Change::Rename { ended }),
        (0_u64..49).prop_map(|pause| Change::InTwoGoes { pause }),
        (0_u64..200).prop_map(|pause| Change::Recreate { pause }),
        Just(Change::Touch),
    ]
}

fn changes(gaps: std::ops::Range<u64>) -> impl Strategy<Value = Vec<(u64, Change)>> {
    prop::collection::vec((gaps, change()), 1..12)
}

proptest! {
    #[test]
    fn only_complete_texts_are_reported(changes in changes(0..300)) {
        let story = Story::of(&changes);
        for (at, text) in story.reported(DebounceOptions::default()) {
            // A missing file may be reported, but never a part of a text.
            let whole = text.as_ref().is_none_or(|text| story.whole.contains(text));
            prop_assert!(whole, "{text:?} at {at:?}");
        }
    }

    #[test]
    fn the_last_text_is_reported_in_time(changes in changes(0..300)) {
        let (story, options) = (Story::of(&changes), DebounceOptions::default());
        let reported = story.reported(options);
        let Some(expect) = story.whole.last() else { return Err(TestCaseError::reject("no change")) };
        let (at, text) = reported.last().expect("something was told");
        prop_assert_eq!(text.as_ref(), Some(expect));
        prop_assert!(*at <= story.now + options.incomplete_interval, "{at:?} after {:?}", story.now);
    }

    #[test]
    fn every_change_is_reported_once(changes in changes(100..300)) {
        let (story, options) = (Story::of(&changes), DebounceOptions::default());
        let reported = story.reported(options);
        let texts: Vec<_> = reported.iter().filter_map(|(_, text)| text.as_ref()).collect();
        prop_assert_eq!(texts, story.whole.iter().collect::<Vec<_>>());
    }

    #[test]
    fn changes_without_a_pause_are_reported(count in 20_usize..200, gap in 1_u64..15) {
        let story = Story::of(&vec![(gap, Change::Rename { ended: true }); count]);
        let options = DebounceOptions::default();
        let reported = story.reported(options);
        for pair in reported.windows(2) {
            prop_assert!(pair[1].0 <= pair[0].0 + options.quiet_interval * 4, "{:?}", pair);
        }
        prop_assert_eq!(reported.last().and_then(|(_, text)| text.as_ref()), story.whole.last());
    }
}

#[test]
fn the_wait_for_an_open_writer_ends() {
    let options = DebounceOptions::default();
    let mut debouncer = Debouncer::new(options);
    debouncer.record_change(FileChange::Writing, Duration::ZERO);
    assert_eq!(debouncer.next_read_at(), Some(options.open_writer_timeout));
    assert!(
        !debouncer.record_read(ReadAssessment::Incomplete, options.open_writer_timeout),
        "cut off, and being written"
    );
    assert_eq!(debouncer.next_read_at(), Some(options.open_writer_timeout * 10));
    assert!(debouncer.record_read(ReadAssessment::Incomplete, options.open_writer_timeout * 10));
    assert!(debouncer.is_idle());
    debouncer.record_change(FileChange::Writing, Duration::ZERO);
    assert!(debouncer.record_read(ReadAssessment::Complete, options.open_writer_timeout));
}

#[test]
fn a_torn_read_is_repeated() {
    let options = DebounceOptions::default();
    let mut debouncer = Debouncer::new(options);
    debouncer.record_change(FileChange::FoundByPolling, Duration::ZERO);
    assert!(debouncer.is_polled());
    assert!(!debouncer.record_read(ReadAssessment::Torn, options.polled_change_interval));
    assert_eq!(debouncer.next_read_at(), Some(options.polled_change_interval * 2));
    assert!(debouncer.record_read(ReadAssessment::Complete, options.polled_change_interval * 2));
}
