//! The tools of a document, and which of its operations are chosen.

use std::collections::HashSet;

use portion_text::names::matches_pattern;
use thiserror::Error;

use crate::openapi::document::{Document, reference};
use crate::openapi::name::{tool_name, unique};
use crate::openapi::operation::Operation;
use crate::openapi::tool::{Reserved, Tool};

/// Selection of the operations that become tools.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// Patterns of operations to use, with `*` for any characters: a tool's name, a path, or `METHOD /path`. Empty: all.
    pub include: Vec<String>,
    /// Patterns of operations to leave out.
    pub exclude: Vec<String>,
    /// Query parameters that the operator sets in each request; tools do not have them.
    pub reserved_query: Vec<String>,
    /// Headers that the operator sets in each request; tools do not have them.
    pub reserved_headers: Vec<String>,
}

/// The chosen tools of a document.
#[derive(Clone, Debug)]
pub struct ToolSet {
    /// Tools, in the order of the document.
    pub tools: Vec<Tool>,
    /// Number of operations of the document.
    pub operations: usize,
    /// Patterns that match no operation.
    pub unmatched_patterns: Vec<String>,
    /// Faults of the document that concern these tools.
    pub faults: Vec<String>,
}

/// Reason that a document gives no tools.
#[derive(Debug, Error)]
pub enum ToolSetError {
    /// No operation was chosen.
    #[error(
        "none of its {0} operations is chosen; check include and exclude, which match tool names, paths and `METHOD /path`"
    )]
    NothingChosen(usize),
    /// A chosen operation refers to another document.
    #[error(
        "{place} refers to `{reference}`, another document, which is not read; bundle the documents into one first (for example with `npx @redocly/cli bundle`), or exclude it"
    )]
    ExternalReference {
        /// The operation or path.
        place: String,
        /// The reference.
        reference: String,
    },
}

impl ToolSet {
    /// Builds the tools of the chosen operations. The name of a tool does not depend on the choice.
    ///
    /// # Errors
    /// Returns [`ToolSetError`] if nothing is chosen, or a chosen operation needs another document.
    pub fn build(document: &Document, options: &ToolOptions) -> Result<Self, ToolSetError> {
        let mut choice = Choice::new(options);
        check_paths(document, &mut choice)?;
        let reserved = Reserved { query: &options.reserved_query, headers: &options.reserved_headers };
        let operations = document.operations();
        let (mut tools, mut faults, mut names) = (Vec::new(), Vec::new(), HashSet::new());
        // The response to TRACE repeats the request with its credentials.
        let operations: Vec<Operation<'_>> =
            operations.into_iter().filter(|operation| operation.method != "TRACE").collect();
        for operation in &operations {
            let wanted = tool_name(operation.text("operationId"), operation.method, operation.path);
            let name = unique(&wanted, |name| names.contains(name));
            names.insert(name.clone());
            if !choice.chooses(&name, operation.method, operation.path) {
                continue;
            }
            let (tool, findings) = Tool::build(operation, name, reserved);
            if let Some(reference) = findings.external {
                return Err(ToolSetError::ExternalReference { place: tool.name, reference });
            }
            let missing = findings.dangling.into_iter();
            faults.extend(
                missing
                    .map(|reference| format!("{} refers to `{reference}`, which does not exist", tool.name)),
            );
            tools.push(tool);
        }
        if tools.is_empty() {
            return Err(ToolSetError::NothingChosen(operations.len()));
        }
        Ok(Self { tools, operations: operations.len(), unmatched_patterns: choice.unmatched(), faults })
    }
}

/// A path that is in another document would be missing without a word.
fn check_paths(document: &Document, choice: &mut Choice<'_>) -> Result<(), ToolSetError> {
    for (path, item) in document.paths().into_iter().flatten() {
        let outside = reference(document.resolve(item)).filter(|reference| !reference.starts_with('#'));
        if let Some(reference) = outside.filter(|_| choice.chooses("", "", path)) {
            return Err(ToolSetError::ExternalReference {
                place: path.clone(),
                reference: reference.to_owned(),
            });
        }
    }
    Ok(())
}

struct Choice<'a> {
    options: &'a ToolOptions,
    matched: HashSet<&'a str>,
}

impl<'a> Choice<'a> {
    fn new(options: &'a ToolOptions) -> Self {
        Self { options, matched: HashSet::new() }
    }

    fn chooses(&mut self, name: &str, method: &str, path: &str) -> bool {
        let request_line = format!("{method} {path}");
        let matches = |pattern: &&'a String| {
            [name, path, request_line.as_str()].iter().any(|text| matches_pattern(pattern, text))
        };
        let included: Vec<&String> = self.options.include.iter().filter(matches).collect();
        let excluded: Vec<&String> = self.options.exclude.iter().filter(matches).collect();
        self.matched.extend(included.iter().chain(&excluded).map(|pattern| pattern.as_str()));
        (self.options.include.is_empty() || !included.is_empty()) && excluded.is_empty()
    }

    fn unmatched(&self) -> Vec<String> {
        let all = self.options.include.iter().chain(&self.options.exclude);
        all.filter(|pattern| !self.matched.contains(pattern.as_str())).cloned().collect()
    }
}
