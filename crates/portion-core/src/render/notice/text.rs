//! Writes a notice that states the cost of the reply that contains it.

use serde_json::{Map, Value};

use super::{Audience, Detail, Notice};

/// A notice in its written forms.
pub(in crate::render) struct NoticeText {
    /// The full JSON object.
    pub object: Map<String, Value>,
    /// The same object, written compactly.
    pub full_text: String,
    /// The notice of the text form.
    pub model_text: String,
}

impl Notice<'_> {
    fn write(&self, tokens: usize, detail: Detail) -> NoticeText {
        let object = self.to_object(tokens, detail, Audience::Programs);
        let full_text = Value::Object(object.clone()).to_string();
        let model_text = if self.is_full_in_text {
            full_text.clone()
        } else {
            Value::Object(self.to_object(tokens, detail, Audience::Model)).to_string()
        };
        NoticeText { object, full_text, model_text }
    }

    /// Returns the notice with the cost of the reply that contains it, and that cost.
    ///
    /// The cost depends on its own digits in the notice, so it is counted, written and counted again. A third
    /// round would only change a digit.
    pub(in crate::render) fn settle_cost(
        &self,
        detail: Detail,
        mut cost: impl FnMut(&NoticeText) -> usize,
    ) -> (NoticeText, usize) {
        let mut stated = self.budget;
        let mut notice = self.write(stated, detail);
        let mut actual = cost(&notice);
        for _ in 0..2 {
            if actual == stated {
                break;
            }
            stated = actual;
            notice = self.write(stated, detail);
            actual = cost(&notice);
        }
        (notice, actual)
    }
}
