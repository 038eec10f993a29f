//! Chunks of code and configuration in common languages: whole declarations, statements and sections.

use super::rules::check;

#[test]
fn rust() {
    check(
        "code",
        110,
        "//! A crate.\n\nuse std::fmt;\n\n/// One.\n#[derive(Debug)]\npub struct One {\n    a: u8,\n}\n\n\
         ¦/// Two.\n#[inline]\npub fn two(a: &One) -> u8 {\n    let b = a.a;\n\n    b + 1\n}\n\n¦#[test]\nfn three() {\n    assert!(two(&One { a: 1 }) > 1);\n}\n",
    );
}

#[test]
fn scripts() {
    check(
        "code",
        120,
        "import { a } from './a';\nimport { b } from './b';\n\nexport const one = (x) => {\n  return a(x);\n};\n\n\
         ¦/** Two. */\nexport async function two(x: number): Promise<void> {\n  await b(x);\n}\n\n¦class C extends D {\n  #x = 1;\n  get x() {\n    return this.#x;\n  }\n}\n",
    );
    check(
        "code",
        90,
        "#!/bin/sh\nset -eu\n\nusage() {\n  echo \"usage: x\"\n  exit 2\n}\n\n¦# Builds it.\nbuild() {\n  if [ -n \"$1\" ]; then\n    make \"$1\"\n  fi\n}\n\n¦for each in one two; do\n  build \"$each\"\ndone\n",
    );
    check(
        "code",
        80,
        "require 'set'\n\nclass One\n  def a\n    @a = 1\n  end\n\n  def b = 2\nend\n\n¦module Two\n  def self.c(x)\n    return x if x\n  end\nend\n",
    );
}

#[test]
fn compiled() {
    check(
        "code",
        100,
        "package main\n\nimport \"fmt\"\n\n// One prints.\nfunc One(a int) {\n\tfmt.Println(a)\n}\n\n¦type Two struct {\n\tA int\n\tB string\n}\n\n¦func (t *Two) Three() error {\n\tif t.A == 0 {\n\t\treturn nil\n\t}\n\treturn fmt.Errorf(\"no\")\n}\n",
    );
    check(
        "code",
        110,
        "#include <stdio.h>\n\nstatic int one(int a)\n{\n    return a + 1;\n}\n\n¦/* Two. */\nstruct two {\n    int a;\n    char *b;\n};\n\n¦int main(void)\n{\n    printf(\"%d\\n\", one(2));\n    return 0;\n}\n",
    );
    check(
        "code",
        110,
        "<?php\n\nnamespace App;\n\nuse App\\One;\n\nfunction a(int $x): int\n{\n    return $x + 1;\n}\n\n¦final class B\n{\n    public function c(): void\n    {\n        echo a(1);\n    }\n}\n",
    );
}

#[test]
fn statements_of_sql_stay_whole() {
    check(
        "code",
        110,
        "CREATE TABLE shop (\n  id INTEGER PRIMARY KEY,\n  name TEXT\n);\nINSERT INTO shop VALUES (1, 'a;b');\n¦SELECT name\nFROM shop\nWHERE id = 1\nORDER BY name;\nUPDATE shop\nSET name = 'c'\nWHERE id = 2;\n¦DELETE FROM shop\nWHERE id = 3;\n",
    );
}

#[test]
fn settings() {
    check(
        "config",
        90,
        "# The service.\nname: shop\n\nsteps:\n  - run: make\n    env:\n      A: 1\n  - run: test\n¦deploy:\n  to: prod\n  script: |\n    echo one\n\n    echo two and some more\n  after: build\n",
    );
    check(
        "config",
        70,
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n\n¦[dependencies]\nserde = { version = \"1\" }\ntoml = \"0.9\"\n\n¦# Slow.\n[profile.dev]\nopt-level = 1\ndebug = false\n",
    );
}
