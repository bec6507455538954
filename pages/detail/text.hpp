#pragma once
#include <string>
#include <string_view>

namespace tapeform::pages::detail {

/// A token as it is drawn: valid UTF-8 in which each character can be seen and none rules over its surroundings. A space is ␣, control
/// characters are their pictures (␊), marks without a glyph (direction, joining, byte order) ⟨U+202E⟩, bytes that are no UTF-8 �,
/// an empty token ∅. What it gives is allowed in XML.
std::string visible(std::string_view token);

/// At most `most` characters of it, the last one … when some are left out.
std::string shortened(std::string_view visible, int most);

/// The room that it takes, in narrow letters: letters of East Asia and pictures take two, combining marks none.
int columns(std::string_view visible);

/// Text as it stands between tags and in quoted attributes; what XML does not allow is �.
std::string markup(std::string_view text);

/// A JSON string as it may stand inside a script element.
std::string json(std::string_view text);

}  // namespace tapeform::pages::detail
