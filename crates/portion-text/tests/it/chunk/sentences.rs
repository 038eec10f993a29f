//! Sentence boundaries in running text, with abbreviations and quotes of each language. `¦` marks a boundary.

use portion_text::chunk::sentence_starts;

use super::rules;

fn check(expect: &str) {
    let text = expect.replace('¦', "");
    let mut shown = text.clone();
    for at in sentence_starts(&text).into_iter().rev() {
        shown.insert(at, '¦');
    }
    assert_eq!(shown, expect);
}

#[test]
fn german() {
    check(
        "Er kam am 3. Mai an. ¦Das war z. B. ein Freitag, d. h. kurz vor dem Wochenende. ¦Dr. Weber fehlte.",
    );
    check("Im 19. Jahrhundert war das so, vgl. Bd. 2 der Ausgabe. ¦Seit dem 2. Quartal ist es anders.");
    check("Sie sagte: „Ich komme.“ ¦Dann ging sie. ¦»Wirklich?« ¦Ja, i. d. R. schon.");
    check("Das kostet ca. 3 Mio. Euro. ¦Der Preis stieg um 12. ¦Niemand wusste, warum.");
}

#[test]
fn french_and_spanish() {
    check("« Tu viens ? » ¦Oui, M. Dupont arrive à huit heures. ¦Il est en retard.");
    check("Il dit : «Non.» ¦Elle partit. ¦« Enfin ! »\u{a0}¦Tout était dit.");
    check("¿Vienes? ¦¡Claro que sí! ¦La Sra. Gil no viene.");
}

#[test]
fn english() {
    check(
        "He met Dr. Smith at 3.14 p.m. on Friday. ¦\"Really?\" he asked. ¦So it was, e.g. in the U.S. Senate.",
    );
    check("There were 12. ¦They left in 1999. ¦Nobody saw them (or so they said). ¦It was I. ¦Fine.");
}

#[test]
fn chinese_and_japanese() {
    check("他说：“好的，我们走！”然后出门了。¦“明天呢？”没有人回答。¦真的。");
    check("「明日は雨です。」と彼は言った。¦本当ですか？¦はい（たぶん）。¦そうです。");
}

#[test]
fn arabic() {
    check("وصل د. أحمد أمس. ¦هل رأيته؟ ¦نعم، رأيته! ¦كان متعبا.");
}

#[test]
fn minutes_in_one_line_are_cut_between_sentences() {
    rules::check(
        "prose",
        80,
        "Chair: Good morning. Shall we begin? Ms. Okoye: The roof is mended. ¦It cost 900 Euro, i.e. less than planned. \
         Chair: Thank you. ¦Next is the budget for the coming year.",
    );
}
