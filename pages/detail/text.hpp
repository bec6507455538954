#pragma once
#include <string>
#include <string_view>

namespace tapeform::pages::detail {

/// A token as it is drawn: valid UTF-8 in which each character can be seen and none rules over its surroundings. A space is ␣, control
/// characters are their pictures (␊), marks without a glyph (direction, joining, byte order) ⟨U+202E⟩, bytes that are no UTF-8 �,
/// an empty token ∅; a mark that would sit on what stands before the token sits on ◌. What it gives is allowed in XML.
std::string visible(std::string_view token);

/// The same for a sentence in which it stands: one that is written from right to left is isolated (U+2068, U+2069), so that the numbers and
/// arrows around it keep their order. `isolated` of viewer.js does so in the browser.
std::string isolated(std::string_view visible);

/// At most `most` characters of it, the last one … when some are left out.
std::string shortened(std::string_view visible, int most);

/// The room that it takes, in narrow letters: letters of East Asia and pictures take two, combining marks none.
int columns(std::string_view visible);

/// Text as it stands between tags and in quoted attributes; what XML does not allow is �.
std::string markup(std::string_view text);

/// A JSON string as it may stand inside a script element.
std::string json(std::string_view text);

}  // namespace tapeform::pages::detail
