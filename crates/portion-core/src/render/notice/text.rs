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

    /// Returns the notice with the cost of the reply that contains it, the forms that it is in, that cost, and the count.
    ///
    /// The cost is that of a reply whose notice states a larger one. `content`: the cost without the notice. `digits`: tokens by
    /// which the notice may cost more because of other figures.
    pub(in crate::render) fn stating_cost<F>(
        &self,
        detail: Detail,
        (content, digits): (usize, usize),
        forms: impl Fn(&NoticeText) -> F,
        cost: impl Fn(&NoticeText, &F) -> usize,
    ) -> (NoticeText, F, usize, usize) {
        let warned =
            self.warning_threshold.map_or(self.budget, |share| (self.budget as f64 * share) as usize);
        let unwarned = Some(warned.saturating_sub(1)).filter(|largest| *largest >= content);
        let mut tokens = self.budget;
        for largest in unwarned.into_iter().chain([self.budget]) {
            let notice = self.write(largest, detail);
            tokens = cost(&notice, &forms(&notice)) + digits;
            if tokens <= largest {
                break;
            }
        }
        let notice = self.write(tokens, detail);
        let forms = forms(&notice);
        let counted = cost(&notice, &forms);
        (notice, forms, tokens, counted)
    }
}
