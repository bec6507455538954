#include "text/grammar/lexicon_tables.hpp"

namespace examples::grammar::tables {

// m, f, n: gender; M: masculine that takes the plural's form in every case but the nominative. Then singular, plural, English.
// `>` gives a genitive that is not the regular one, `/` an English plural, `_` a space; a last field `+` adds the woman's noun in -in,
// `+Ärztin` one that is not made by adding.
const char* const people = R"(
m Mann Männer man/men; f Frau Frauen woman/women; n Kind Kinder child/children; M Junge Jungen boy; n Mädchen Mädchen girl
n Baby Babys baby; m Vater Väter father; f Mutter Mütter mother; m Bruder Brüder brother; f Schwester Schwestern sister; m Sohn Söhne son
f Tochter Töchter daughter; m Onkel Onkel uncle; f Tante Tanten aunt; m Großvater Großväter grandfather; M Neffe Neffen nephew
f Großmutter Großmütter grandmother; f Nichte Nichten niece; m Enkel Enkel grandson; f Enkelin Enkelinnen granddaughter; m König Könige king
f Königin Königinnen queen; M Prinz Prinzen prince; f Prinzessin Prinzessinnen princess; m Gast Gäste guest; m Freund Freunde friend +
M Nachbar Nachbarn neighbour +; M Student Studenten student +; M Kollege Kollegen colleague +; M Kunde Kunden customer +
M Zeuge Zeugen witness +; M Soldat Soldaten soldier +; M Polizist Polizisten police_officer +; M Journalist Journalisten journalist +
M Tourist Touristen tourist +; M Pianist Pianisten pianist +; M Dirigent Dirigenten conductor +; M Präsident Präsidenten president +
M Assistent Assistenten assistant +; M Patient Patienten patient +; M Astronaut Astronauten astronaut +; M Pilot Piloten pilot +
M Architekt Architekten architect +; M Fotograf Fotografen photographer +; M Philosoph Philosophen philosopher +
M Biologe Biologen biologist +; M Psychologe Psychologen psychologist +; M Chirurg Chirurgen surgeon +; M Bote Boten messenger +
M Kamerad Kameraden comrade +; m Detektiv Detektive detective +; M Held Helden hero/heroes +; M Experte Experten expert +
M Matrose Matrosen sailor +; m Lehrer Lehrer teacher +; m Schüler Schüler pupil +; m Fahrer Fahrer driver +; m Arbeiter Arbeiter worker +
m Verkäufer Verkäufer seller +; m Bäcker Bäcker baker +; m Fischer Fischer fisher +; m Jäger Jäger hunter +; m Gärtner Gärtner gardener +
m Maler Maler painter +; m Tänzer Tänzer dancer +; m Sänger Sänger singer +; m Spieler Spieler player +; m Trainer Trainer coach +
m Richter Richter judge +; m Schneider Schneider tailor +; m Künstler Künstler artist +; m Schriftsteller Schriftsteller writer +
m Dichter Dichter poet +; m Forscher Forscher researcher +; m Erfinder Erfinder inventor +; m Wissenschaftler Wissenschaftler scientist +
m Physiker Physiker physicist +; m Chemiker Chemiker chemist +; m Mathematiker Mathematiker mathematician +
m Techniker Techniker technician +; m Mechaniker Mechaniker mechanic +; m Elektriker Elektriker electrician +; m Musiker Musiker musician +
m Politiker Politiker politician +; m Programmierer Programmierer programmer +; m Händler Händler merchant +; m Kellner Kellner waiter +
m Schauspieler Schauspieler actor +; m Zauberer Zauberer magician +Zauberin; m Ritter Ritter knight; M Riese Riesen giant +
m Zwerg Zwerge dwarf +; m Besucher Besucher visitor +; m Wächter Wächter guard +; m Helfer Helfer helper +; m Besitzer Besitzer owner +
m Bürgermeister Bürgermeister mayor +; m Schreiner Schreiner carpenter +; m Metzger Metzger butcher +; m Friseur Friseure hairdresser +
m Ingenieur Ingenieure engineer +; m Direktor Direktoren director +; m Professor Professoren professor +; m Autor Autoren author +
m Arzt Ärzte doctor +Ärztin; m Zahnarzt>Zahnarztes Zahnärzte dentist +Zahnärztin; m Tierarzt>Tierarztes Tierärzte vet +Tierärztin
m Koch>Kochs Köche cook +Köchin; m Anwalt Anwälte lawyer +Anwältin; M Bauer Bauern farmer +Bäuerin; m Chef>Chefs Chefs boss +
m Dieb Diebe thief/thieves +; m Feind Feinde enemy +; m Partner Partner partner +; m Sekretär Sekretäre secretary +
m Apotheker Apotheker pharmacist +; m Bibliothekar Bibliothekare librarian +; m Bewohner Bewohner resident +; m Clown>Clowns Clowns clown
m Pfarrer Pfarrer pastor +; m Schwimmer Schwimmer swimmer +; m Läufer Läufer runner +; m Radfahrer Radfahrer cyclist +
m Wanderer Wanderer hiker +Wanderin; m Anfänger Anfänger beginner +; m Einwohner Einwohner inhabitant +
m Übersetzer Übersetzer translator +; m Imker Imker beekeeper +; m Schmied Schmiede blacksmith +; m Schäfer Schäfer shepherd +
m Müller Müller miller +; m Klempner Klempner plumber +; m Dachdecker Dachdecker roofer +; m Töpfer Töpfer potter +
m Uhrmacher Uhrmacher watchmaker +; m Schuster Schuster cobbler +; m Förster Förster forester +; m Winzer Winzer winegrower +
m Taucher Taucher diver +; m Turner Turner gymnast +; m Boxer Boxer boxer +; m Botschafter Botschafter ambassador +
m Minister Minister minister +; m Senator Senatoren senator +; m Gegner Gegner opponent +; m Sieger Sieger winner +
m Verlierer Verlierer loser +; m Zuschauer Zuschauer spectator +; m Leser Leser reader +; m Hörer Hörer listener +
m Erzähler Erzähler narrator +; m Dolmetscher Dolmetscher interpreter +; m Verleger Verleger publisher +; m Bildhauer Bildhauer sculptor +
m Geiger Geiger violinist +; M Gitarrist Gitarristen guitarist +; m Trommler Trommler drummer +; M Komponist Komponisten composer +
M Astronom Astronomen astronomer +; m Historiker Historiker historian +; m Kritiker Kritiker critic +; M Linguist Linguisten linguist +
M Geologe Geologen geologist +; M Archäologe Archäologen archaeologist +; m Botaniker Botaniker botanist +; m Optiker Optiker optician +
)";

const char* const animals = R"(
m Hund Hunde dog; f Katze Katzen cat; f Maus Mäuse mouse/mice; n Pferd Pferde horse; f Kuh Kühe cow; n Schwein Schweine pig
n Schaf Schafe sheep/sheep; f Ziege Ziegen goat; n Huhn Hühner chicken; f Ente Enten duck; f Gans Gänse goose/geese; m Vogel Vögel bird
m Fisch Fische fish/fish; m Frosch Frösche frog; f Schlange Schlangen snake; M Bär Bären bear; M Löwe Löwen lion; m Tiger Tiger tiger
M Elefant Elefanten elephant; M Affe Affen monkey; m Wolf Wölfe wolf/wolves; m Fuchs Füchse fox; M Hase Hasen hare
n Kaninchen Kaninchen rabbit; m Igel Igel hedgehog; m Esel Esel donkey; n Kamel Kamele camel; f Giraffe Giraffen giraffe
n Zebra Zebras zebra; n Krokodil Krokodile crocodile; f Schildkröte Schildkröten turtle; f Spinne Spinnen spider; f Biene Bienen bee
f Fliege Fliegen fly; m Schmetterling Schmetterlinge butterfly; m Adler Adler eagle; f Eule Eulen owl; m Schwan Schwäne swan
m Storch Störche stork; f Taube Tauben pigeon; m Papagei>Papageis Papageien parrot; m Pinguin Pinguine penguin; m Delfin Delfine dolphin
m Wal Wale whale; m Hai Haie shark; f Ratte Ratten rat; m Hamster Hamster hamster; n Eichhörnchen Eichhörnchen squirrel
m Hirsch Hirsche stag; f Ameise Ameisen ant; m Käfer Käfer beetle; f Schnecke Schnecken snail; M Rabe Raben raven; f Möwe Möwen seagull
n Küken Küken chick; n Lamm Lämmer lamb; n Kalb Kälber calf/calves; n Fohlen Fohlen foal; n Kätzchen Kätzchen kitten; M Welpe Welpen puppy
m Hahn Hähne rooster; n Nashorn Nashörner rhinoceros; n Nilpferd Nilpferde hippopotamus; n Känguru Kängurus kangaroo; m Panda Pandas panda
f Robbe Robben seal; m Otter Otter otter; m Biber Biber beaver; m Dachs Dachse badger; f Fledermaus Fledermäuse bat
m Truthahn Truthähne turkey; m Pfau Pfauen peacock; M Falke Falken falcon; m Specht Spechte woodpecker
)";

const char* const first_names = R"(
Anna Peter Maria Thomas Julia Michael Laura Stefan Sarah Daniel Lisa Andreas Lena Markus Emma Christian Sophie Martin Clara Alexander
Johanna Sebastian Katharina Tobias Nina Florian Eva Lukas Hannah Felix Mia Jonas Paula Simon Greta Anton Ida Oskar Marlene Emil Frieda Karl
Helene Otto Luise Heinrich Charlotte Friedrich Mathilda Konrad Elisabeth Gustav Theresa Leopold Barbara Georg Susanne Walter Monika Klaus
Renate Jürgen Ursula Dieter Ingrid Helmut Brigitte Manfred Gisela Wolfgang Petra Bernd Sabine Uwe Heike Rainer Birgit Ralf Silke Olaf Anja
Sven Tanja Kai Nadine Lars Vera Erik Nora Nils Ella Moritz Elsa Valentin Carla Vincent Rosa Theo Amelie Fritz Alfred Bruno Cornelia Dagmar
Erika Ferdinand Gertrud Hans Irene Jakob Kerstin Linus Margarete Norbert Olga Pia Quentin Robert Sibylle Tilda Ulrich Viktor Wanda Xaver
Yvonne Zita Albert Bettina Caspar Doris Edgar Franziska Gregor Hilde Isabel Julian Kurt Ludwig Mona Natalie Otmar Philipp Richard Sonja Tim
Ulrike Veronika Werner Arthur Beate Christa Dominik Elke Frank Gabriele Holger Inge Joachim Karin Leon Margit Niklas Oliver Patrick Roland
Simone Torsten Vanessa Wilhelm
)";

// German, English.
const char* const cities = R"(
Berlin Berlin; Hamburg Hamburg; München Munich; Köln Cologne; Frankfurt Frankfurt; Stuttgart Stuttgart; Leipzig Leipzig; Dresden Dresden
Nürnberg Nuremberg; Bremen Bremen; Wien Vienna; Salzburg Salzburg; Graz Graz; Zürich Zurich; Genf Geneva; Bern Bern; Paris Paris
London London; Rom Rome; Mailand Milan; Venedig Venice; Florenz Florence; Neapel Naples; Madrid Madrid; Lissabon Lisbon; Brüssel Brussels
Amsterdam Amsterdam; Kopenhagen Copenhagen; Stockholm Stockholm; Oslo Oslo; Helsinki Helsinki; Warschau Warsaw; Prag Prague
Budapest Budapest; Athen Athens; Moskau Moscow; Kairo Cairo; Tokio Tokyo; Peking Beijing; Frankreich France; Italien Italy; Spanien Spain
Portugal Portugal; Österreich Austria; Polen Poland; Ungarn Hungary; Griechenland Greece; Norwegen Norway; Schweden Sweden; Finnland Finland
Dänemark Denmark; Belgien Belgium; England England; Irland Ireland; Schottland Scotland; Russland Russia; Ägypten Egypt; Indien India
Japan Japan; Kanada Canada; Brasilien Brazil; Mexiko Mexico; Australien Australia; Deutschland Germany; Kroatien Croatia; Marokko Morocco
Kenia Kenya; Chile Chile
)";

}  // namespace examples::grammar::tables
