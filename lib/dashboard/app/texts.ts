import { endpointTexts } from './texts/endpoints.js';
import { generalTexts } from './texts/general.js';
import { messageTexts } from './texts/messages.js';

/** Everything that the page says. Numbers come formatted; where a count decides on a word, it comes too. */
export const t = { ...generalTexts, ...endpointTexts, ...messageTexts };
