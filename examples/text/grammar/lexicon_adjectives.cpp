#include "text/grammar/lexicon_tables.hpp"

namespace examples::grammar::tables {

// German (`>` before the stem that takes endings, where it is another), English, and the comparatives of both where there are any.

const char* const of_anything = R"(
alt old älter older; neu new neuer newer; groß big größer bigger; klein small kleiner smaller; schön beautiful
hässlich ugly hässlicher uglier; berühmt famous; schmutzig dirty schmutziger dirtier; seltsam strange seltsamer stranger
schwer heavy schwerer heavier; leicht light leichter lighter; dick thick dicker thicker; dünn thin dünner thinner; gefährlich dangerous
nass wet nasser wetter; warm warm wärmer warmer; kalt cold kälter colder; wunderbar wonderful; schrecklich terrible; gewöhnlich ordinary
nett nice netter nicer; echt genuine; geheimnisvoll mysterious; winzig tiny winziger tinier; riesig gigantic; nützlich useful
wichtig important; perfekt perfect
)";

const char* const of_colour = R"(
rot red; blau blue; grün green; gelb yellow; schwarz black; weiß white; braun brown; grau grey; bunt colourful; golden golden
)";

const char* const of_living = R"(
jung young jünger younger; müde>müd tired; hungrig hungry hungriger hungrier; durstig thirsty durstiger thirstier; freundlich friendly
glücklich happy glücklicher happier; traurig sad trauriger sadder; klug clever klüger cleverer; dumm stupid; mutig brave mutiger braver
feige>feig cowardly; faul lazy fauler lazier; fleißig diligent; krank sick kränker sicker; gesund healthy gesünder healthier
stark strong stärker stronger; schwach weak schwächer weaker; wütend angry; nervös nervous; ruhig calm ruhiger calmer
wild wild wilder wilder; zahm tame; neugierig curious; vorsichtig careful; ungeduldig impatient; treu loyal; einsam lonely einsamer lonelier
stolz proud stolzer prouder; ängstlich anxious; blind blind; taub deaf; fröhlich cheerful; schüchtern shy schüchterner shyer
frech cheeky frecher cheekier; lebhaft lively; schlau cunning; verletzt injured; aufgeregt excited; dankbar grateful; geduldig patient
verwirrt confused; eifersüchtig jealous; erschöpft exhausted
)";

const char* const of_persons = R"(
reich rich reicher richer; arm poor ärmer poorer; höflich polite; unhöflich rude; ehrlich honest; großzügig generous; geizig stingy
streng strict strenger stricter; weise>weis wise weiser wiser; begabt gifted; erfahren experienced; ledig unmarried; verheiratet married
beliebt popular; ehrgeizig ambitious; bescheiden modest; elegant elegant; zuverlässig reliable; vergesslich forgetful; höhnisch scornful
)";

const char* const of_things = R"(
teuer>teur expensive; billig cheap billiger cheaper; kaputt broken; sauber clean sauberer cleaner; modern modern; rund round; eckig angular
lang long länger longer; kurz short kürzer shorter; breit wide breiter wider; schmal narrow schmaler narrower; weich soft weicher softer
hart hard härter harder; leer empty; praktisch practical; wertvoll valuable; glatt smooth glatter smoother; scharf sharp schärfer sharper
stumpf blunt stumpfer blunter; verrostet rusty; zerbrechlich fragile; bequem comfortable; glänzend shiny; hell bright heller brighter
dunkel>dunkl dark dunkler darker; flach flat flacher flatter; tief deep tiefer deeper; hoch>hoh high höher higher
niedrig low niedriger lower; geschenkt donated; gestohlen stolen
)";

const char* const of_food = R"(
frisch fresh frischer fresher; süß sweet süßer sweeter; sauer>saur sour; salzig salty salziger saltier; lecker tasty; reif ripe reifer riper
verfault rotten; roh raw; heiß hot heißer hotter; bitter bitter; köstlich delicious; gesund healthy gesünder healthier
mild mild milder milder
)";

const char* const of_texts = R"(
spannend exciting; langweilig boring; interessant interesting; lustig funny lustiger funnier; kurz short kürzer shorter
lang long länger longer; traurig sad trauriger sadder; unbekannt unknown; geheim secret; ausführlich detailed; falsch false
vollständig complete; lehrreich instructive
)";

const char* const of_places = R"(
verlassen abandoned; still quiet stiller quieter; laut noisy lauter noisier; gemütlich cosy gemütlicher cosier; leer empty
voll full voller fuller; hell bright heller brighter; dunkel>dunkl dark dunkler darker; modern modern; abgelegen remote
malerisch picturesque; staubig dusty staubiger dustier; prächtig magnificent; überfüllt crowded
)";

}  // namespace examples::grammar::tables
