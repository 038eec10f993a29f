//! Checks that the book is whole: `docs/SUMMARY.md` has every page, and every relative link leads to a file and a heading.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{Outcome, page, repository};

/// Pages outside of `docs/` and `examples/`.
const OTHER_PAGES: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "deploy/README.md",
    "packaging/README.md",
    "tests/questions/README.md",
    "crates/portion/src/command/demo/data/README.md",
];
const SUMMARY: &str = "docs/SUMMARY.md";
/// Heading of the summary after which pages are looked up, and not read in order.
const REFERENCE: &str = "\n# Reference\n";
const MAX_PAGES: usize = 20;
/// Most words of all pages of the book, the reference included.
const MAX_WORDS: usize = 30_000;

#[test]
fn the_summary_has_every_page_once() -> Outcome {
    let mut listed = BTreeSet::new();
    for target in links(&page(SUMMARY)?) {
        let file = resolved(SUMMARY, &target);
        assert!(listed.insert(file.clone()), "{SUMMARY} has {file} twice");
    }
    let pages: BTreeSet<String> = pages("docs")?.into_iter().filter(|file| file != SUMMARY).collect();
    assert_eq!(listed, pages, "left: {SUMMARY}, right: the files in docs/");
    Ok(())
}

#[test]
fn the_pages_are_few_and_short() -> Outcome {
    let summary = page(SUMMARY)?;
    let (in_order, _) = summary.split_once(REFERENCE).ok_or("no reference")?;
    let all = pages("docs")?;
    let texts = all.iter().map(|file| page(file)).collect::<Result<Vec<_>, _>>()?;
    let words: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    let in_order = links(in_order).len();
    assert!(in_order <= MAX_PAGES, "{in_order} pages, at most {MAX_PAGES}");
    assert!(words <= MAX_WORDS, "{words} words, at most {MAX_WORDS}");
    Ok(())
}

#[test]
fn relative_links_lead_somewhere() -> Outcome {
    let mut anchors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut broken = Vec::new();
    for file in all_pages()? {
        for link in links(&page(&file)?) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if target.is_empty() { file.clone() } else { resolved(&file, target) };
            if !repository(&path).exists() {
                broken.push(format!("{file}: {link}: there is no file {path}"));
            } else if file.starts_with("docs/") && !path.starts_with("docs/") {
                broken.push(format!("{file}: {link}: the book has only the files in docs/"));
            } else if !anchor.is_empty() {
                if !anchors.contains_key(&path) {
                    anchors.insert(path.clone(), headings(&page(&path)?));
                }
                if !anchors[&path].contains(anchor) {
                    broken.push(format!("{file}: {link}: {path} has no heading {anchor}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    Ok(())
}

/// All pages of the documentation, relative to the repository.
pub(super) fn all_pages() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let others = OTHER_PAGES.map(str::to_owned).into();
    Ok([pages("docs")?, pages("examples")?, others].concat())
}

/// The pages in a folder of the repository.
fn pages(folder: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut folders = vec![PathBuf::from(folder)];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(repository(&folder.to_string_lossy()))? {
            let name = folder.join(entry?.file_name());
            if repository(&name.to_string_lossy()).is_dir() {
                folders.push(name);
            } else if name.extension().is_some_and(|end| end == "md") {
                pages.push(name.to_string_lossy().into_owned());
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// The path of a link of `file`, without `.` and `..`.
fn resolved(file: &str, target: &str) -> String {
    let mut path = PathBuf::from(file);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_string_lossy().into_owned()
}

/// The targets of the links and images of a page, without those that lead to other sites.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        let line = without_code(line);
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                links.push(target.to_owned());
            }
        }
    }
    links
}

/// The anchors of the headings of a page, as GitHub and mdBook name them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let name: String = title.trim().to_lowercase().chars().filter(is_kept).collect();
        let name = name.replace(' ', "-");
        let mut anchor = name.clone();
        let mut number = 0;
        while !anchors.insert(anchor.clone()) {
            number += 1;
            anchor = format!("{name}-{number}");
        }
    }
    anchors
}

/// The lines of a page outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

#[test]
fn links_and_headings_are_read_from_a_page() {
    let text = "# A `b` c\n[x](y.md#z) ![p](q.png) `[no](no.md)` [s](https://s/)\n```sh\n# no\n[no](no)\n```\n## A b c\n";
    assert_eq!(links(text), ["y.md#z", "q.png"]);
    assert_eq!(headings(text), ["a-b-c".to_owned(), "a-b-c-1".to_owned()].into());
    assert_eq!(resolved("docs/guide/a.md", "../b.md"), "docs/b.md");
}
