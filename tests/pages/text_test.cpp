#include "catch.hpp"
#include "detail/text.hpp"

using namespace tapeform::pages::detail;

TEST_CASE("pages: tokens are shown as they are, and what cannot be seen is written out") {
  CHECK(visible("Straße") == "Straße");
  CHECK(visible("▁über") == "▁über");
  CHECK(visible("<s>&amp;\"'") == "<s>&amp;\"'");  // markup is the writer's work
  CHECK(visible("猫") == "猫");
  CHECK(visible("🙂") == "🙂");
  CHECK(visible("") == "∅");
  CHECK(visible("a b") == "a␣b");
  CHECK(visible("\u0308u") == "◌\u0308u");  // nothing of this token for it to sit on
  CHECK(visible("u\u0308") == "u\u0308");
  CHECK(visible(std::string_view("\0\t\n\x1f\x7f", 5)) == "␀␉␊␟␡");
  CHECK(visible("\u0085\u00a0\u200b\u200e\u202e\u2066\ufeff") == "⟨U+0085⟩⟨U+00A0⟩⟨U+200B⟩⟨U+200E⟩⟨U+202E⟩⟨U+2066⟩⟨U+FEFF⟩");
  CHECK(visible("\xEF\xBF\xBE\xF0\x9F\xBF\xBF") == "⟨U+FFFE⟩⟨U+1FFFF⟩");
}

TEST_CASE("pages: a token written from right to left turns nothing around it") {
  CHECK(isolated("Straße ␊") == "Straße ␊");
  CHECK(isolated("") == "");
  for (const std::string token : {"שלום", "السلام", "ab ש", "𐤀", "ﭏ"}) CHECK(isolated(token) == "\u2068" + token + "\u2069");
}

TEST_CASE("pages: bytes that are no UTF-8 are replaced one by one") {
  CHECK(visible("a\xFFz") == "a�z");
  CHECK(visible("\xC3") == "�");                 // cut off
  CHECK(visible("\xE2\x96") == "��");            // cut off
  CHECK(visible("\xC0\xAF") == "��");            // overlong
  CHECK(visible("\xE0\x80\xAF") == "���");       // overlong
  CHECK(visible("\xED\xA0\x80") == "���");       // a surrogate
  CHECK(visible("\xF4\x90\x80\x80") == "����");  // over U+10FFFF
  CHECK(visible("\x80ß") == "�ß");
}

TEST_CASE("pages: long tokens are cut where characters end") {
  CHECK(shortened("abc", 3) == "abc");
  CHECK(shortened("abcd", 3) == "ab…");
  CHECK(shortened("ßßßß", 3) == "ßß…");
  CHECK(shortened(std::string(10'000, 'x'), 16) == std::string(15, 'x') + "…");
  CHECK(columns("abß") == 3);
  CHECK(columns("猫a") == 3);
  CHECK(columns("e\u0301") == 1);
}

TEST_CASE("pages: no token becomes markup, in elements, attributes or scripts") {
  CHECK(markup("<script>&\"'") == "&lt;script&gt;&amp;&quot;&#39;");
  CHECK(markup(std::string_view("\0\x1b\xff", 3)) == "���");
  CHECK(json("</script><!--&") == R"("\u003c/script\u003e\u003c!--\u0026")");
  CHECK(json("\"\\\n\u2028") == R"("\"\\\u000a\u2028")");
  CHECK(json("ß\xFF") == "\"ß�\"");
}
