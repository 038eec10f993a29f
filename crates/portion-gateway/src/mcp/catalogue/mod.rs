//! What `tools/list` teaches us, and what we add to it.
//!
//! The same list in gives the same bytes out: clients cache prompts by them. What we do not add to keeps its
//! bytes.

mod advertise;
mod relax;
mod tool;

use std::collections::HashMap;
use std::sync::Arc;

use portion_core::policy::Policy;
use portion_core::scan::Kind;
use portion_core::span::Span;

use super::splice::Splice;
use super::walk::{self, Sequence};
pub(super) use tool::Tool;

/// The tools of an upstream, as far as they are known.
#[derive(Debug)]
pub(super) struct Catalogue {
    tools: HashMap<String, Tool>,
    /// The name that our own tool shall have, where no tool of the upstream has it.
    wished: Arc<str>,
    /// The name that it has: known once all of the upstream's are.
    read_tool: Option<Arc<str>>,
}

impl Catalogue {
    /// A catalogue of nothing yet, with the name that our own tool shall have.
    pub(super) fn new(wished: &str) -> Self {
        Self { tools: HashMap::new(), wished: wished.into(), read_tool: None }
    }

    /// The name of our own tool, as far as it is known.
    pub(super) fn read_tool(&self) -> Arc<str> {
        Arc::clone(self.read_tool.as_ref().unwrap_or(&self.wished))
    }

    /// Learns the tools of one page of `tools/list`, and adds ours to it.
    ///
    /// Returns the upstream's cursor to the next page; an empty one is a cursor, too.
    pub(super) fn page(
        &mut self,
        splice: &mut Splice<'_>,
        text: &str,
        result: Span,
        policy: &Policy,
    ) -> Option<String> {
        let members = walk::members(text, result);
        let list =
            walk::find(text, &members, "tools").filter(|m| walk::kind(text, m.value) == Kind::Array)?;
        let tools = Sequence { whole: list.value, items: walk::items(text, list.value) };
        for span in &tools.items {
            let Some(mut tool) = Tool::read(text, *span) else { continue };
            advertise::add_controls(&mut tool, splice, policy);
            relax::relax_listed(splice, text, *span);
            self.tools.insert(tool.name.clone(), tool);
        }
        let next = walk::string(text, result, "nextCursor");
        if next.is_none() {
            let name = self.free_name();
            splice.append(&tools, &[advertise::read_tool(&name)]);
            self.read_tool = Some(name.into());
        }
        next
    }

    /// The list of an upstream that has no tools of its own.
    pub(super) fn ours_alone(&mut self) -> String {
        self.forget();
        self.read_tool = Some(Arc::clone(&self.wished));
        format!("[{}]", advertise::read_tool(&self.wished))
    }

    /// Forgets everything: the list has changed.
    pub(super) fn forget(&mut self) {
        self.tools.clear();
        self.read_tool = None;
    }

    /// Whether every tool is known.
    pub(super) fn is_complete(&self) -> bool {
        self.read_tool.is_some()
    }

    /// What is known of a tool.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// Whether it is our own tool. `None`: that cannot be told before all tools are known.
    pub(super) fn is_read_tool(&self, name: &str) -> Option<bool> {
        let number = name.strip_prefix(&*self.wished);
        let like_ours = number.is_some_and(|n| {
            n.is_empty() || n.strip_prefix('_').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        });
        match &self.read_tool {
            Some(ours) => Some(**ours == *name),
            None => (!like_ours).then_some(false),
        }
    }

    fn free_name(&self) -> String {
        let wished = &self.wished;
        let names = std::iter::once(wished.to_string()).chain((2..).map(|n| format!("{wished}_{n}")));
        let mut free = names.skip_while(|name| self.tools.contains_key(name));
        free.next().unwrap_or_else(|| wished.to_string())
    }
}

#[cfg(test)]
mod tests {
    use portion_core::policy::Policy;

    use super::super::splice::Splice;
    use super::super::walk;
    use super::Catalogue;

    fn page(catalogue: &mut Catalogue, text: &str) -> (String, Option<String>) {
        let mut splice = Splice::new(text);
        let next = catalogue.page(&mut splice, text, walk::whole(text), &Policy::default());
        (splice.apply(), next)
    }

    #[test]
    fn our_tool_is_on_the_last_page_only_under_a_free_name() {
        let mut all = Catalogue::new("portion_read");
        let first = r#"{"tools":[{"name":"portion_read","inputSchema":{"type":"object"}}],"nextCursor":""}"#;
        assert_eq!(page(&mut all, first), (first.to_owned(), Some(String::new())));
        assert_eq!(all.is_read_tool("portion_read"), None);
        assert_eq!(all.is_read_tool("echo"), Some(false));
        let last = r#"{"x": 1e400, "tools" : [ {"name":"portion_read_2"} ] , "ttlMs":5}"#;
        let (text, next) = page(&mut all, last);
        assert_eq!(next, None);
        let added = r#" {"name":"portion_read_2"},{"name":"portion_read_3","#;
        assert!(text.starts_with(&format!(r#"{{"x": 1e400, "tools" : [{added}"#)), "{text}");
        assert!(text.ends_with(r#" ] , "ttlMs":5}"#), "{text}");
        assert_eq!(all.is_read_tool("portion_read"), Some(false));
        assert_eq!(all.is_read_tool("portion_read_3"), Some(true));
        let again = page(&mut all, first);
        assert_eq!(page(&mut all, last).0, text, "byte-stable");
        assert_eq!(again.0, first);
    }

    #[test]
    fn a_list_that_is_none_is_left_alone() {
        for text in ["{}", r#"{"tools":{}}"#, "null", r#"{"tool":[]}"#] {
            let mut all = Catalogue::new("portion_read");
            assert_eq!(page(&mut all, text), (text.to_owned(), None));
            assert!(!all.is_complete());
        }
    }
}
