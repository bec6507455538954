#pragma once

/// The words, as tables that `lexicon()` reads: entries end with `;` or a line, fields with a space.
namespace examples::grammar::tables {

extern const char *const people, *const animals, *const first_names, *const cities;
extern const char *const things, *const clothes, *const food, *const texts, *const places, *const grounds, *const compounds;
extern const char *const of_anything,
    *const of_colour, *const of_living, *const of_persons, *const of_things, *const of_food, *const of_texts, *const of_places;
extern const char *const persons_do,
    *const animals_do, *const perceive, *const treat_anything,
                                            *const treat_things,
                                                *const treat_persons,
                                                    *const treat_food, *const treat_texts, *const dative,
                                                                                               *const give, *const move, *const say,
                                                                                                                             *const weather;

}  // namespace examples::grammar::tables
