//! The result of a call, with its list if it has one.

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Structure, capture};
use serde_json::Value;

/// The result of a call.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Texts of the blocks, in order, and `structuredContent`.
    texts: Vec<String>,
    structured: Option<String>,
    /// True if the call failed.
    pub is_error: bool,
    /// The text that holds the data: `structuredContent` if it has a list, else the longest text.
    pub data: String,
    /// The data as JSON, if it is JSON.
    pub json: Option<Value>,
    /// JSON Pointer of the list in the JSON.
    list: Option<String>,
}

impl Observation {
    /// Reads the `result` member of a response to `tools/call`.
    pub fn from_result(result: &Value) -> Self {
        let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
        let text_of = |block: &Value| {
            let text = block.get("text").or_else(|| block.pointer("/resource/text"));
            text.and_then(Value::as_str).map(str::to_owned)
        };
        let texts: Vec<String> = blocks.filter_map(text_of).collect();
        let structured = result.get("structuredContent").filter(|value| !value.is_null());
        let structured = structured.map(Value::to_string);
        let is_error = result.get("isError") == Some(&Value::Bool(true));
        Self::new(texts, structured, is_error)
    }

    /// Creates the result of one text.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str) -> Self {
        Self::new(vec![text.to_owned()], None, false)
    }

    fn new(texts: Vec<String>, structured: Option<String>, is_error: bool) -> Self {
        let longest = texts.iter().max_by_key(|text| text.len()).cloned().unwrap_or_default();
        // As in the gateway: programs read `structuredContent` first, and a text may be one item of it.
        let candidates = structured.iter().cloned().chain([longest.clone()]).map(read_data);
        let mut candidates: Vec<_> = candidates.collect();
        let best = candidates.iter().position(|(_, _, list)| list.is_some()).unwrap_or(candidates.len() - 1);
        let (data, json, list) = candidates.swap_remove(best);
        Self { texts, structured, is_error, data, json, list }
    }

    /// Returns the JSON Pointer of the list.
    pub fn list_pointer(&self) -> Option<&str> {
        self.list.as_deref()
    }

    /// Returns the items of the list; none if there is no list.
    pub fn items(&self) -> &[Value] {
        let list = self.list.as_deref().and_then(|pointer| self.json.as_ref()?.pointer(pointer));
        list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the payload as the gateway would capture it.
    pub(crate) fn payload(&self) -> Payload {
        let texts = self.texts.iter().enumerate();
        let mut blocks: Vec<Block> = texts
            .map(|(at, text)| Block::new(format!("/content/{at}/text"), Content::Text(text.clone())))
            .collect();
        if let Some(structured) = &self.structured {
            blocks.push(Block::new("/structuredContent", Content::Structured(structured.clone())));
        }
        Payload { blocks, ..Payload::default() }
    }

    /// Returns what a model reads: the texts or `structuredContent`, of which clients show one, whichever is longer.
    pub fn shown(&self) -> Vec<&str> {
        let texts: usize = self.texts.iter().map(String::len).sum();
        match &self.structured {
            Some(structured) if structured.len() > texts => vec![structured],
            _ => self.texts.iter().map(String::as_str).collect(),
        }
    }
}

/// Reads a text: the text of the data, its JSON, and the place of its list.
fn read_data(text: String) -> (String, Option<Value>, Option<String>) {
    let Ok(json) = serde_json::from_str::<Value>(&text) else { return (text, None, None) };
    // Python servers wrap values as `{"result": …}`.
    let (text, json) = match sole_member(&json) {
        Some(Value::String(inner)) => match serde_json::from_str(inner) {
            Ok(inner_json) => (inner.clone(), inner_json),
            Err(_) => (text, json),
        },
        Some(inner @ Value::Object(_)) => (inner.to_string(), inner.clone()),
        _ => (text, json),
    };
    let list = find_list(&text, &json);
    (text, Some(json), list)
}

fn sole_member(json: &Value) -> Option<&Value> {
    let members = json.as_object().filter(|members| members.len() == 1)?;
    members.values().next()
}

/// Returns the place of the list, as the gateway detects it. Only lists that are arrays are paged.
fn find_list(text: &str, json: &Value) -> Option<String> {
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
    let structure = &snapshot.parts().first()?.indexed_text()?.structure;
    let detected = match structure {
        Structure::List(list) => Some(list.pointer.clone()),
        _ => None,
    };
    let is_array = |pointer: &String| json.pointer(pointer).is_some_and(Value::is_array);
    detected.filter(is_array).or_else(|| {
        // An empty or a short list is no list to the gateway, but tells how a tool pages.
        let arrays = json.as_object()?.iter().filter(|(_, value)| value.is_array());
        let mut names = arrays.map(|(name, _)| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
        names.next().filter(|_| names.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Observation;

    fn check(result: &Value, list: Option<&str>, items: usize) {
        let observation = Observation::from_result(result);
        assert_eq!((observation.list_pointer(), observation.items().len()), (list, items), "{result}");
    }

    fn text(json: &Value) -> Value {
        json!({"content": [{"type": "text", "text": json.to_string()}]})
    }

    #[test]
    fn the_list_is_found_in_every_form_of_a_result() {
        let rows: Vec<Value> = (0..5).map(|id| json!({"id": id})).collect();
        check(&text(&json!(rows)), Some(""), 5);
        check(&text(&json!({"status": "success", "result": rows, "count": 9})), Some("/result"), 5);
        check(
            &json!({"structuredContent": {"result": rows}, "content": [{"text": "{\"id\":0}"}]}),
            Some("/result"),
            5,
        );
        let wrapped = json!({"result": json!({"results": rows, "next": null}).to_string()});
        check(&json!({"structuredContent": wrapped}), Some("/results"), 5);
        check(&json!({"structuredContent": {"result": {"result": rows, "count": 5}}}), Some("/result"), 5);
        check(&text(&json!({"data": [], "has_more": false})), Some("/data"), 0);
        check(&json!({"content": [{"type": "text", "text": "plain"}]}), None, 0);
        check(&json!({}), None, 0);
    }

    #[test]
    fn the_longer_form_is_shown() {
        let check = |text: &str, expect: &[&str]| {
            let result = json!({"content": [{"text": text}], "structuredContent": {"a": 1}});
            assert_eq!(Observation::from_result(&result).shown(), expect);
        };
        check("{\"a\": 1}", &["{\"a\": 1}"]);
        check("1 row", &["{\"a\":1}"]);
    }
}
