#pragma once
#include <string>

/// The forms of English words.
namespace examples::grammar::english {

std::string plural(const std::string& noun);  ///< dishes, parties, keys
std::string past(const std::string& verb);    ///< cried, loved, walked
std::string third(const std::string& verb);   ///< cries, watches, goes

/// In letters, 1 … 99: twenty-seven.
std::string number_word(int number);

}  // namespace examples::grammar::english
