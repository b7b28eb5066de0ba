// Replaces the class of `jackson-databind-nullable`, which registers `JsonNullable`.
package org.openapitools.jackson.nullable;

import com.fasterxml.jackson.databind.module.SimpleModule;

public class JsonNullableModule extends SimpleModule {}
