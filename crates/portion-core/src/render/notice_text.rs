//! Writes a notice that states the cost of the reply that contains it.

use serde_json::{Map, Value};

use super::notice::{Detail, Notice};

/// A notice in its written form.
pub(super) struct NoticeText {
    /// The JSON object.
    pub object: Map<String, Value>,
    /// The same object, written compactly.
    pub text: String,
}

impl NoticeText {
    fn new(object: Map<String, Value>) -> Self {
        Self { text: Value::Object(object.clone()).to_string(), object }
    }
}

impl Notice<'_> {
    /// Returns the notice with the cost of the reply that contains it, and that cost.
    ///
    /// The cost depends on its own digits in the notice, so it is counted, written and counted again. A third
    /// round would only change a digit.
    pub(super) fn settle_cost(
        &self,
        detail: Detail,
        mut cost: impl FnMut(&NoticeText) -> usize,
    ) -> (NoticeText, usize) {
        let mut told = self.budget;
        let mut said = NoticeText::new(self.to_object(told, detail));
        let mut real = cost(&said);
        for _ in 0..2 {
            if real == told {
                break;
            }
            told = real;
            said = NoticeText::new(self.to_object(told, detail));
            real = cost(&said);
        }
        (said, real)
    }
}
