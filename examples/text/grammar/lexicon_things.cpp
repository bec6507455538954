#include "text/grammar/lexicon_tables.hpp"

namespace examples::grammar::tables {

// The columns are those of the people.
const char* const things = R"(
m Tisch Tische table; m Stuhl Stühle chair; m Schrank Schränke cupboard; f Lampe Lampen lamp; n Bett Betten bed; f Tür Türen door
n Fenster Fenster window; m Schlüssel Schlüssel key; f Tasche Taschen bag; m Koffer Koffer suitcase; f Uhr Uhren clock
m Spiegel Spiegel mirror; n Bild Bilder picture; f Vase Vasen vase; m Teppich Teppiche carpet; n Kissen Kissen pillow
f Decke Decken blanket; f Kerze Kerzen candle; n Messer Messer knife/knives; f Gabel Gabeln fork; m Löffel Löffel spoon
m Teller Teller plate; f Tasse Tassen cup; n Glas Gläser glass; f Flasche Flaschen bottle; m Topf Töpfe pot; f Pfanne Pfannen pan
f Schüssel Schüsseln bowl; m Korb Körbe basket; m Eimer Eimer bucket; m Besen Besen broom; m Hammer Hämmer hammer; m Nagel Nägel nail
f Leiter Leitern ladder; n Seil Seile rope; f Kette Ketten chain; m Ring Ringe ring; f Kiste Kisten box; n Paket Pakete parcel
n Geschenk Geschenke gift; n Spielzeug Spielzeuge toy; f Puppe Puppen doll; m Ball Bälle ball; m Drachen Drachen kite
n Fahrrad Fahrräder bicycle; n Auto Autos car; m Bus>Busses Busse bus; m Zug Züge train; n Schiff Schiffe ship; n Boot Boote boat
n Flugzeug Flugzeuge aeroplane; m Lastwagen Lastwagen truck; n Motorrad Motorräder motorcycle; m Roller Roller scooter
f Kutsche Kutschen carriage; m Schlitten Schlitten sled; m Computer Computer computer; m Drucker Drucker printer
n Telefon Telefone telephone; f Kamera Kameras camera; n Radio Radios radio; m Fernseher Fernseher television; f Batterie Batterien battery
f Maschine Maschinen machine; m Motor Motoren engine; n Rad Räder wheel; f Pumpe Pumpen pump; n Klavier Klaviere piano
f Gitarre Gitarren guitar; f Geige Geigen violin; f Flöte Flöten flute; f Trommel Trommeln drum; f Trompete Trompeten trumpet
f Harfe Harfen harp; m Stift Stifte pen; m Bleistift Bleistifte pencil; m Pinsel Pinsel paintbrush; n Heft Hefte notebook
f Karte Karten map; m Regenschirm Regenschirme umbrella; n Zelt Zelte tent; m Rucksack Rucksäcke backpack; f Münze Münzen coin
m Stein Steine stone; m Baum Bäume tree; f Blume Blumen flower; f Rose Rosen rose; f Tulpe Tulpen tulip; n Blatt Blätter leaf/leaves
m Ast Äste branch; m Zaun Zäune fence; f Bank Bänke bench; n Sofa Sofas sofa; m Sessel Sessel armchair; n Regal Regale shelf/shelves
f Schublade Schubladen drawer; m Ofen Öfen stove; m Kühlschrank Kühlschränke fridge; f Waschmaschine Waschmaschinen washing_machine
f Badewanne Badewannen bathtub; f Dusche Duschen shower; f Seife Seifen soap; n Handtuch Handtücher towel; m Kamm Kämme comb
f Bürste Bürsten brush; f Nadel Nadeln needle; m Knopf Knöpfe button; n Schild Schilder sign; f Fahne Fahnen flag; f Glocke Glocken bell
f Statue Statuen statue; f Maske Masken mask; f Krone Kronen crown; n Schwert Schwerter sword; f Truhe Truhen chest; f Perle Perlen pearl
M Diamant Diamanten diamond; f Muschel Muscheln shell; f Feder Federn feather; m Stempel Stempel stamp; m Wecker Wecker alarm_clock
f Taschenlampe Taschenlampen torch; n Mikroskop Mikroskope microscope; n Teleskop Teleskope telescope; f Rakete Raketen rocket
M Satellit Satelliten satellite; m Roboter Roboter robot; m Bildschirm Bildschirme screen; f Tastatur Tastaturen keyboard
n Kabel Kabel cable; f Steckdose Steckdosen socket; m Schalter Schalter switch; m Hebel Hebel lever; m Griff Griffe handle
f Schraube Schrauben screw; n Werkzeug Werkzeuge tool; m Kran Kräne crane; m Bagger Bagger excavator; m Traktor Traktoren tractor
m Anker Anker anchor; n Segel Segel sail; n Netz Netze net; m Sattel Sättel saddle; m Käfig Käfige cage; n Nest Nester nest
m Becher Becher mug; f Treppe Treppen staircase; f Kugel Kugeln ball
)";

const char* const clothes = R"(
n Hemd Hemden shirt; m Rock Röcke skirt; n Kleid Kleider dress; m Mantel Mäntel coat; f Jacke Jacken jacket; m Pullover Pullover sweater
m Hut Hüte hat; f Mütze Mützen cap; m Schal>Schals Schals scarf/scarves; m Handschuh Handschuhe glove; m Schuh Schuhe shoe
m Stiefel Stiefel boot; f Socke Socken sock; m Gürtel Gürtel belt; f Krawatte Krawatten tie; f Bluse Blusen blouse; m Anzug Anzüge suit
f Weste Westen vest; f Schürze Schürzen apron; f Uniform Uniformen uniform; f Sandale Sandalen sandal; m Umhang Umhänge cloak
m Bademantel Bademäntel bathrobe; m Schleier Schleier veil
)";

const char* const food = R"(
m Apfel Äpfel apple; f Birne Birnen pear; f Banane Bananen banana; f Orange Orangen orange; f Zitrone Zitronen lemon
f Kirsche Kirschen cherry; f Erdbeere Erdbeeren strawberry; f Traube Trauben grape; f Pflaume Pflaumen plum; m Pfirsich Pfirsiche peach
f Kartoffel Kartoffeln potato/potatoes; f Tomate Tomaten tomato/tomatoes; f Gurke Gurken cucumber; f Zwiebel Zwiebeln onion
f Karotte Karotten carrot; m Kuchen Kuchen cake; f Torte Torten tart; m Keks Kekse cookie; n Brötchen Brötchen roll; n Ei>Eis Eier egg
f Wurst Würste sausage; f Suppe Suppen soup; m Salat Salate salad; f Pizza Pizzas pizza; m Pfannkuchen Pfannkuchen pancake
f Nudel Nudeln noodle; m Pilz Pilze mushroom; f Nuss Nüsse nut; f Melone Melonen melon; f Feige Feigen fig; f Olive Oliven olive
f Bohne Bohnen bean; f Erbse Erbsen pea; f Waffel Waffeln waffle; m Knödel Knödel dumpling; n Schnitzel Schnitzel cutlet
n Steak>Steaks Steaks steak; n Bonbon Bonbons candy; m Krapfen Krapfen doughnut; f Mango Mangos mango/mangoes
f Kokosnuss Kokosnüsse coconut; m Kürbis>Kürbisses Kürbisse pumpkin; m Auflauf Aufläufe casserole; f Himbeere Himbeeren raspberry
f Brombeere Brombeeren blackberry; f Heidelbeere Heidelbeeren blueberry; f Aprikose Aprikosen apricot; f Dattel Datteln date
f Rübe Rüben turnip
)";

const char* const texts = R"(
n Buch Bücher book; m Brief Briefe letter; f Zeitung Zeitungen newspaper; f Zeitschrift Zeitschriften magazine; n Gedicht Gedichte poem
m Roman Romane novel; n Märchen Märchen fairy_tale; f Geschichte Geschichten story; m Artikel Artikel article; m Bericht Berichte report
f Nachricht Nachrichten message; f Notiz Notizen note; m Text Texte text; m Vertrag Verträge contract; f Postkarte Postkarten postcard
n Tagebuch Tagebücher diary; n Rezept Rezepte recipe; n Wörterbuch Wörterbücher dictionary; n Lied Lieder song
f Anleitung Anleitungen manual; n Formular Formulare form; f Rechnung Rechnungen invoice; n Rätsel Rätsel riddle; f Komödie Komödien comedy
n Drama Dramen drama; f Biografie Biografien biography; n Lexikon Lexika encyclopaedia; f Fabel Fabeln fable; f Sage Sagen legend
n Kapitel Kapitel chapter; m Satz Sätze sentence; m Plan Pläne plan; f Liste Listen list
)";

// One is in them.
const char* const places = R"(
m Garten Gärten garden; m Park>Parks Parks park; m Wald Wälder forest; n Haus Häuser house; f Schule Schulen school; f Kirche Kirchen church
f Küche Küchen kitchen; n Zimmer Zimmer room; n Büro Büros office; n Hotel Hotels hotel; n Restaurant Restaurants restaurant
n Café Cafés café; n Museum Museen museum; n Theater Theater theatre; n Kino Kinos cinema; m Bahnhof Bahnhöfe station
m Flughafen Flughäfen airport; m Hafen Häfen harbour; n Krankenhaus Krankenhäuser hospital; f Bibliothek Bibliotheken library
m Supermarkt Supermärkte supermarket; m Laden Läden shop; f Stadt Städte city; n Dorf Dörfer village; n Tal Täler valley
m Keller Keller cellar; n Schloss Schlösser castle; m Turm Türme tower; f Fabrik Fabriken factory; f Werkstatt Werkstätten workshop
m Zoo Zoos zoo; m Stall Ställe stable; f Scheune Scheunen barn; f Hütte Hütten hut; f Höhle Höhlen cave; f Wüste Wüsten desert
n Stadion Stadien stadium; n Gefängnis>Gefängnisses Gefängnisse prison; n Kloster Klöster monastery; m Palast Paläste palace
n Badezimmer Badezimmer bathroom; n Schlafzimmer Schlafzimmer bedroom; n Wohnzimmer Wohnzimmer living_room
n Esszimmer Esszimmer dining_room; f Garage Garagen garage; f Bäckerei Bäckereien bakery; f Apotheke Apotheken pharmacy
f Botschaft Botschaften embassy; f Universität Universitäten university; n Labor Labore laboratory; n Studio Studios studio
n Schwimmbad Schwimmbäder swimming_pool; m Tunnel Tunnel tunnel; n Klassenzimmer Klassenzimmer classroom; n Gasthaus Gasthäuser inn
n Gewächshaus Gewächshäuser greenhouse; f Kapelle Kapellen chapel; n Rathaus Rathäuser town_hall; n Kaufhaus Kaufhäuser department_store
f Halle Hallen hall; n Lager Lager warehouse; f Mühle Mühlen mill; m Hof Höfe courtyard; f Gasse Gassen alley
)";

// One is on them.
const char* const grounds = R"(
m Berg Berge mountain; f Brücke Brücken bridge; f Insel Inseln island; n Dach Dächer roof; m Balkon Balkons balcony
f Terrasse Terrassen terrace; m Hügel Hügel hill; f Straße Straßen street; f Bühne Bühnen stage; f Mauer Mauern wall; m Strand Strände beach
)";

// First part, its English, kind (t thing, c clothes, f food); the nouns that it stands before.
const char* const compounds = R"(
Holz wooden t Tisch Stuhl Kiste Bank Tür Löffel Zaun Schüssel Regal Truhe Boot Puppe Rad Treppe Maske
Glas glass t Tür Vase Schüssel Tisch Flasche Kugel Becher Perle; Leder leather t Tasche Koffer Sofa Sessel Ball
Leder leather c Jacke Schuh Gürtel Handschuh Stiefel Hut Rock; Papier paper t Blume Drachen Boot Krone Fahne Becher Teller
Silber silver t Ring Kette Löffel Münze Becher Glocke; Gold gold t Ring Kette Münze Krone Kugel
Metall metal t Kiste Zaun Regal Eimer Schrank Tür Rad Becher Knopf
Plastik plastic t Eimer Flasche Stuhl Becher Tasse Teller Kiste Löffel Gabel Messer; Stein stone t Bank Treppe Statue Tisch Kugel
Küchen kitchen t Tisch Stuhl Fenster Uhr Schrank Messer Lampe Tür Regal; Garten garden t Stuhl Tisch Bank Zaun Lampe
Büro office t Stuhl Tisch Lampe Schrank Telefon; Keller cellar t Tür Fenster Treppe Regal; Schul school t Tasche Heft Bus Uniform Glocke
Winter winter c Mantel Jacke Schuh Hut Kleid Stiefel Mütze; Sommer summer c Kleid Hut Schuh Jacke Mantel Bluse
Auto car t Tür Fenster Schlüssel Radio; Hotel hotel t Bett Tür Schlüssel Lampe; Apfel apple f Kuchen Torte; Kirsch cherry f Kuchen Torte
Nuss nut f Kuchen Torte; Zitronen lemon f Kuchen Torte; Erdbeer strawberry f Kuchen Torte; Pflaumen plum f Kuchen
Orangen orange f Kuchen Torte; Bananen banana f Kuchen; Kartoffel potato f Suppe Salat Auflauf; Tomaten tomato f Suppe Salat
Gurken cucumber f Suppe Salat; Bohnen bean f Suppe Salat; Pilz mushroom f Suppe; Fisch fish f Suppe; Nudel noodle f Suppe Salat Auflauf
Zwiebel onion f Suppe; Erbsen pea f Suppe; Kürbis pumpkin f Suppe
)";

}  // namespace examples::grammar::tables
