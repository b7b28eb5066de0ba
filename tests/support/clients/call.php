<?php
// Calls operations of the PHP client. Reads a call per line, and prints its result per line.

use PaymentGateway\Configuration;
use PaymentGateway\ObjectSerializer;

// The generated code is older than PHP 8.1, and causes deprecation warnings.
error_reporting(E_ALL & ~E_DEPRECATED);
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $prefix = 'PaymentGateway\\';
    if (!str_starts_with($class, $prefix)) return;
    $path = getenv('CLIENT') . '/lib/' . str_replace('\\', '/', substr($class, strlen($prefix)));
    if (is_file("$path.php")) require "$path.php";
});

$settings = json_decode(getenv('CLIENT_SETTINGS'), true);
$configuration = (new Configuration())->setHost($settings['url'])->setAccessToken($settings['key']);
$http = new GuzzleHttp\Client();

/** Sends the body as an object of its class, and returns the response's object as JSON. */
function perform(object $call): mixed {
    global $http, $configuration;
    $args = (array) $call->args;
    if ($call->bodyType) {
        $class = "\\PaymentGateway\\Model\\$call->bodyType";
        $args[$call->bodyName] = ObjectSerializer::deserialize($args[$call->bodyName], $class);
    }
    $class = "\\PaymentGateway\\Api\\$call->api";
    $result = (new $class($http, $configuration))->{$call->method}(...$args);
    return ObjectSerializer::sanitizeForSerialization($result);
}

while (($line = fgets(STDIN)) !== false) {
    try {
        $outcome = ['result' => perform(json_decode($line))];
    } catch (Throwable $error) {
        $outcome = ['error' => $error::class . ': ' . $error->getMessage()];
    }
    echo json_encode($outcome), "\n";
}
